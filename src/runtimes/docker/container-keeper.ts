import type { LossCause } from "../kernel/connection.ts";
import type { HolderExit } from "../kernel/supervised-instance.ts";
import type { ContainerRemover } from "./container-remover.ts";
import type { EngineClient } from "./engine-client.ts";

// A dead sandbox is told within two seconds; an engine that has said nothing by then does not get to say why it died.
const AUTOPSY_MS = 1_500;
// One that answers other questions meanwhile is only busy, and a death without its reason helps nobody.
const BUSY_AUTOPSY_MS = 10_000;
const KILLED = 137;

/** How a container ended, as its engine tells. */
export interface ContainerExit {
  readonly exitCode: number | null;
  readonly outOfMemory: boolean;
  readonly diagnostics?: string;
}

/** Waits until a container has ended, for a bounded time, and asks how; never throws. */
export async function examine(engine: EngineClient, container: string): Promise<ContainerExit> {
  const what = `asking how the container ${container} ended`;
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error(`${what}: no answer in ${AUTOPSY_MS} ms`)), AUTOPSY_MS);
  void engine.version().then(
    () => clearTimeout(timer),
    () => {},
  );
  const call = { what, deadlineMs: BUSY_AUTOPSY_MS, mayWait: true, signal: silence.signal } as const;
  try {
    return await engine.call(call, async (docker, abortSignal) => {
      const found = docker.getContainer(container);
      await found.wait({ condition: "not-running", abortSignal });
      const { State: state } = await found.inspect({ abortSignal });
      return { exitCode: state.ExitCode, outOfMemory: state.OOMKilled };
    });
  } catch (error) {
    return { exitCode: null, outOfMemory: false, diagnostics: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(timer);
  }
}

/** What keeps the container of one sandbox: it kills it, and tells once how it ended. */
export class ContainerKeeper {
  /** Resolves when it is gone, or known to be dead and given up to the remover. */
  readonly ended: Promise<HolderExit>;
  readonly #engine: EngineClient;
  readonly #remover: ContainerRemover;
  readonly #container: string;
  readonly #forget: () => Promise<void>;
  readonly #ending = Promise.withResolvers<HolderExit>();
  #killed = false;

  /** @param options.forget removes what the host keeps of it, once the container is gone. */
  constructor(options: {
    readonly engine: EngineClient;
    readonly remover: ContainerRemover;
    readonly container: string;
    readonly forget: () => Promise<void>;
  }) {
    this.#engine = options.engine;
    this.#remover = options.remover;
    this.#container = options.container;
    this.#forget = options.forget;
    this.ended = this.#ending.promise;
  }

  /** Ends it, if it lives, and removes it; only the first call counts. */
  kill(why: LossCause): void {
    if (this.#killed) return;
    this.#killed = true;
    void (why === "closed" ? this.#bury() : this.#end());
  }

  /** It has died by itself, or somebody killed it. */
  async #bury(): Promise<void> {
    const { exitCode, outOfMemory, diagnostics } = await examine(this.#engine, this.#container);
    this.#ending.resolve({
      exitCode,
      signal: exitCode === KILLED ? "SIGKILL" : null,
      ...toReason(exitCode, outOfMemory),
      ...(diagnostics !== undefined && { diagnostics }),
    });
    await this.#remove();
  }

  async #end(): Promise<void> {
    await this.#remove();
    this.#ending.resolve({ exitCode: null, signal: "SIGKILL" });
  }

  async #remove(): Promise<void> {
    await this.#remover.remove(this.#container, this.#forget);
  }
}

function toReason(exitCode: number | null, outOfMemory: boolean): { readonly reason?: string } {
  if (outOfMemory) return { reason: "oom: its memory ran out" };
  if (exitCode === null) return {};
  return { reason: exitCode === KILLED ? "its container was killed" : `its container ended with ${exitCode}` };
}
