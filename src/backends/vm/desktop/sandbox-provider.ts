import { z } from "zod";
import { type Clock, systemClock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import { firstServing } from "../../../core/first-runtime.ts";
import type { Isolation, RuntimeSelector, SandboxRuntime, SandboxSpec } from "../../../core/runtime.ts";
import type { DesktopProvider, DesktopSpec, RunningDesktop } from "./provider.ts";
import { asDesktopBox, NEEDED, RunningSandbox } from "./running-sandbox.ts";
import { DESKTOP_ENVIRONMENT } from "./session-script.ts";

/** The image of desktops whose session names none. */
export const DESKTOP_IMAGE = "toolyard/desktop";

// Each look starts a sandbox, which is not worth more than this.
const BELIEVED_MS = 60_000;
const LOOK_MS = 30_000;
const LACKING_BELIEVED_MS = 5_000;

/** By what a desktop is found again: its runtime's name, and what the runtime said. */
const StoredHandle = z.object({ runtime: z.string(), handle: z.unknown() });

/** Which of the runtimes may hold desktops. */
export interface SandboxProviderOptions {
  readonly selector: RuntimeSelector;
  /** A runtime's name, or `auto` for the first that can. */
  readonly runtime: string;
  readonly minIsolation?: Isolation | undefined;
  readonly clock?: Clock;
}

/**
 * Desktops in sandboxes of the server's runtimes: containers of the desktop image, or local ones on the host's own programs.
 *
 * With `auto`, a runtime that turns out to hold no desktop (it has no image, or no X server) makes room for the next one.
 */
export class SandboxDesktopProvider implements DesktopProvider {
  readonly name: string;
  readonly #options: SandboxProviderOptions;
  #looking: Promise<string | undefined> | undefined;
  #seen: { readonly lacking: string | undefined; readonly until: number } | undefined;

  constructor(options: SandboxProviderOptions) {
    this.#options = options;
    this.name = options.runtime;
  }

  async check(signal: AbortSignal): Promise<string | undefined> {
    const { clock = systemClock } = this.#options;
    if (this.#seen !== undefined && clock.now() < this.#seen.until) return this.#seen.lacking;
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    // It goes on for the next one who asks, when this one cannot wait.
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([this.#looking, aborted]);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  start(spec: DesktopSpec, signal: AbortSignal): Promise<RunningDesktop> {
    return this.#first(signal, async (runtime) => {
      const box = await runtime.create(toSandboxSpec(spec.sandbox, runtime), signal);
      try {
        return await RunningSandbox.start(asDesktopBox(box), spec, signal);
      } catch (error) {
        await box.stop();
        throw error;
      }
    });
  }

  async adopt(stored: unknown, signal: AbortSignal): Promise<RunningDesktop | null> {
    const found = StoredHandle.safeParse(stored).data;
    if (found === undefined) return null;
    const box = await this.#options.selector.get?.(found.runtime)?.adopt?.(found.handle, signal);
    if (box === undefined || box === null) return null;
    try {
      const running = await RunningSandbox.find(asDesktopBox(box), signal);
      if (running === null) await box.stop();
      return running;
    } catch (error) {
      await box.stop();
      throw error;
    }
  }

  async #look(): Promise<string | undefined> {
    const { clock = systemClock } = this.#options;
    const signal = AbortSignal.timeout(LOOK_MS);
    let lacking: string | undefined;
    try {
      await this.#first(signal, (runtime) => probe(runtime, signal));
    } catch (error) {
      lacking = ToolyardError.is(error) ? `${error.message} ${error.suggestion}` : "a sandbox could not be looked into";
    }
    this.#seen = { lacking, until: clock.now() + (lacking === undefined ? BELIEVED_MS : LACKING_BELIEVED_MS) };
    return lacking;
  }

  #first<T>(signal: AbortSignal, work: (runtime: SandboxRuntime) => Promise<T>): Promise<T> {
    const { selector, runtime, minIsolation } = this.#options;
    return firstServing(selector, { runtime, minIsolation, needed: NEEDED, what: "a desktop" }, signal, work);
  }
}

/** Whether a desktop would start, without one: the sandbox is made, and looked into. */
async function probe(runtime: SandboxRuntime, signal: AbortSignal): Promise<void> {
  const box = asDesktopBox(await runtime.create(toSandboxSpec({}, runtime), signal));
  try {
    const missing = "for each in Xtigervnc fluxbox; do command -v $each >/dev/null || echo $each; done";
    const { stdout } = await box.exec({ command: ["sh", "-c", missing], timeoutMs: 10_000 }, { signal });
    if (stdout.text === "") return;
    throw new ToolyardError("runtime_unavailable", `it has no ${stdout.text.trim().split("\n").join(" and no ")}`, {
      suggestion: `For docker: toolyard images build desktop. For local: apt-get install tigervnc-standalone-server fluxbox.`,
    });
  } finally {
    await box.stop();
  }
}

function toSandboxSpec(spec: SandboxSpec, runtime: SandboxRuntime): SandboxSpec {
  return {
    ...spec,
    // Sandboxes of namespaces run on the host's own programs: they know no images.
    ...(runtime.isolation === "container" && { image: spec.image ?? DESKTOP_IMAGE }),
    environment: { ...spec.environment, ...DESKTOP_ENVIRONMENT },
  };
}
