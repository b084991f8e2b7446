import { describe } from "vitest";
import { LocalRuntime } from "../../../src/runtimes/local/runtime.ts";

const status = await new LocalRuntime().check(AbortSignal.timeout(60_000));
const reason = status.available ? "" : `: skipped, local sandboxes cannot run here (${status.reason})`;

/** Describes what needs real sandboxes; where they cannot run, the title says so. */
export const describeLocal = (title: string, suite: () => void): void => {
  describe.skipIf(!status.available)(title + reason, suite);
};
