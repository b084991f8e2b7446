import { createHash } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { Language, SandboxInstance } from "../../core/runtime.ts";

/** The folders that user code can write to. */
const WRITABLE = ["/workspace", "/tmp", "/dev/shm"];
const MAX_ENTRIES = 1_000;
/** How often a sandbox that was reset is looked at before it counts as not fresh. */
const LOOKS = 5;
const LOOK_AGAIN_MS = 100;

/** Whether a sandbox answers within the time; one that cannot be asked is taken for well. Never rejects. */
export async function answers(instance: SandboxInstance, clock: Clock, withinMs: number): Promise<boolean> {
  if (instance.ping === undefined) return true;
  return (await within(clock, withinMs, async (signal) => instance.ping?.(signal))) ?? false;
}

/**
 * Describes all that user code can leave behind: files with their modes and sizes, and processes. `undefined` when it cannot
 * be told, which is equal to nothing.
 */
export async function fingerprintOf(
  instance: SandboxInstance,
  clock: Clock,
  withinMs: number,
): Promise<string | undefined> {
  const { files } = instance;
  if (files === undefined || instance.stats === undefined || instance.processes === undefined) return undefined;
  return within(clock, withinMs, async (signal) => {
    const lists = await Promise.all(
      WRITABLE.map((path) => files.list(path, { depth: 32, limit: MAX_ENTRIES }, signal)),
    );
    if (lists.some(({ truncated }) => truncated)) return undefined;
    const [stats, processes] = await Promise.all([instance.stats?.(signal), instance.processes?.(signal)]);
    const entries = lists.flatMap(({ entries: found }) =>
      found.map(({ path, kind, mode, sizeBytes, owner }) => [
        path,
        kind,
        mode,
        kind === "directory" ? 0 : sizeBytes,
        owner,
      ]),
    );
    const facts = [entries.toSorted(), stats?.userProcesses ?? stats?.pids, processes?.length];
    return createHash("sha256").update(JSON.stringify(facts)).digest("hex");
  });
}

/**
 * Describes a sandbox that has just been started, once two looks agree: a process that is only on its way out would make every
 * later look another one.
 */
export async function freshFingerprintOf(
  instance: SandboxInstance,
  clock: Clock,
  withinMs: number,
): Promise<string | undefined> {
  let previous = await fingerprintOf(instance, clock, withinMs);
  for (let look = 1; look < LOOKS; look += 1) {
    // One after another is the point.
    // oxlint-disable-next-line no-await-in-loop
    const next = await fingerprintOf(instance, clock, withinMs);
    if (next === previous) return next;
    previous = next;
    // oxlint-disable-next-line no-await-in-loop
    await new Promise<void>((resolve) => void clock.after(LOOK_AGAIN_MS, resolve));
  }
  return undefined;
}

/** Resets a sandbox that was used, and says whether it then is as a fresh one was. Never rejects. */
export async function renew(
  instance: SandboxInstance,
  fresh: string | undefined,
  clock: Clock,
  withinMs: number,
): Promise<boolean> {
  if (instance.reset === undefined || fresh === undefined) return false;
  const reset = await within(clock, withinMs, async (signal) => {
    await instance.reset?.(signal);
    return true;
  });
  // What was killed may take a moment to be gone.
  for (let attempt = 1; reset === true; attempt += 1) {
    // One after another is the point.
    // oxlint-disable-next-line no-await-in-loop
    if ((await fingerprintOf(instance, clock, withinMs)) === fresh) return true;
    if (attempt === LOOKS) return false;
    // oxlint-disable-next-line no-await-in-loop
    await new Promise<void>((resolve) => void clock.after(LOOK_AGAIN_MS, resolve));
  }
  return false;
}

/** Runs a command that does nothing, whose start is slow the first time. What it comes to says nothing: not every image has it. */
export async function runsCommands(instance: SandboxInstance, clock: Clock, withinMs: number): Promise<boolean> {
  if (instance.exec === undefined) return true;
  const ran = await within(clock, withinMs, async (signal) => {
    try {
      await instance.exec?.({ command: ["true"], timeoutMs: withinMs }, { signal });
      return true;
    } catch (error) {
      return ToolyardError.is(error) && error.error !== "sandbox_dead" && error.error !== "cancelled";
    }
  });
  return ran === true;
}

/** The least that a kernel can be asked to run, which starts it. */
const NOTHING: Readonly<Record<Language, string>> = { python: "None", javascript: "void 0", bash: ":" };

/** Starts a kernel of each language under the language's name, but for languages that it lacks. Never rejects. */
export async function startKernels(
  instance: SandboxInstance,
  languages: readonly Language[],
  clock: Clock,
  withinMs: number,
): Promise<boolean> {
  const started = await within(clock, withinMs, async (signal) =>
    Promise.all(
      languages.map(async (language) => {
        try {
          const kernel = await instance.openKernel(language, signal, { name: language });
          const { status } = await kernel.run({ code: NOTHING[language], deadlineMs: withinMs }, { signal });
          return status === "ok";
        } catch (error) {
          if (ToolyardError.is(error) && error.error === "runtime_unavailable") return true;
          throw error;
        }
      }),
    ),
  );
  return started?.every(Boolean) ?? false;
}

/** Runs work until its time is over; `undefined` then, and when it fails. */
async function within<T>(clock: Clock, ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  const end = new AbortController();
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(ms, () => {
    end.abort();
    resolve(undefined);
  });
  try {
    return await Promise.race([work(end.signal), late]);
  } catch {
    return undefined;
  } finally {
    cancel();
  }
}
