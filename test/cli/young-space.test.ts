import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const PROGRAM = fileURLToPath(new URL("young-space-process.ts", import.meta.url));

/** The size that V8's space for new objects came to in a process of its own, in MiB. */
async function largestOf(mode: "bounded" | "free", flags: readonly string[] = []): Promise<number> {
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--experimental-strip-types", ...flags, PROGRAM, mode], {
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  return Number(stdout);
}

it("bounds V8's space for new objects, which grows with what waits, and leaves it to who gave a flag", async () => {
  const [free, bounded, chosen] = await Promise.all([
    largestOf("free"),
    largestOf("bounded"),
    largestOf("bounded", ["--max-semi-space-size=64"]),
  ]);
  expect(free).toBeGreaterThan(64);
  expect(chosen).toBeGreaterThan(64);
  // A collection is told of once its turn is over; in this one's long turns the space has grown once more by then.
  expect(bounded).toBeLessThanOrEqual(64);
});
