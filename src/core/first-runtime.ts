import { ToolyardError } from "./errors.ts";
import type { Isolation, RuntimeSelector, SandboxRuntime } from "./runtime.ts";
import type { SandboxAbility } from "./sandbox-ability.ts";

/** What is looked for. */
export interface RuntimeNeed {
  /** A runtime's name, or `auto` for the first that serves. */
  readonly runtime: string;
  readonly minIsolation?: Isolation | undefined;
  readonly needed: readonly SandboxAbility[];
  /** What it is to hold, for the error: `a desktop`. */
  readonly what: string;
}

/**
 * Does something in the first runtime that serves: with `auto`, one that turns out not to (it lacks an image, or a program) makes
 * room for the next.
 *
 * @throws ToolyardError `runtime_unavailable` with why each of them does not serve; what the work throws
 */
export async function firstServing<T>(
  selector: RuntimeSelector,
  { runtime: wanted, minIsolation, needed, what }: RuntimeNeed,
  signal: AbortSignal,
  work: (runtime: SandboxRuntime) => Promise<T>,
): Promise<T> {
  const named = wanted === "auto" ? selector.names : [wanted];
  const refusals: string[] = [];
  let remedy: string | undefined;
  for (const name of named) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- the later ones only where the earlier do not serve
      const runtime = await selector.select(
        { runtime: name, ...(minIsolation !== undefined && { minIsolation }) },
        signal,
      );
      if (needed.some((ability) => runtime.abilities?.includes(ability) !== true)) {
        refusals.push(`${name}: its sandboxes cannot hold one`);
        continue;
      }
      // oxlint-disable-next-line no-await-in-loop -- as above
      return await work(runtime);
    } catch (error) {
      if (!ToolyardError.is(error) || error.error !== "runtime_unavailable") throw error;
      if (named.length === 1) throw error;
      refusals.push(`${name}: ${error.message}`);
      remedy ??= error.suggestion;
    }
  }
  throw new ToolyardError("runtime_unavailable", `no runtime can hold ${what} (${refusals.join("; ")})`, {
    ...(remedy !== undefined && { suggestion: remedy }),
  });
}
