import { fork } from "node:child_process";
import { once } from "node:events";
import type { DockerRuntimeOptions } from "../../src/runtimes/docker/runtime.ts";

/** A sandbox that a server left: `x` is 41 in its Python kernel `main`. */
export interface LeftSandbox {
  readonly id: string;
  readonly handle: unknown;
}

/** Runs a process that makes sandboxes of a deployment and is killed with them, as a crashed server is. */
export async function crashedServer(
  stateFolder: string,
  count: number,
  options: Pick<DockerRuntimeOptions, "orphanSeconds"> = {},
): Promise<readonly LeftSandbox[]> {
  const child = fork(new URL("docker-crash-process.ts", import.meta.url), {
    execArgv: ["--import", "tsx"],
    env: { ...process.env, CRASH: JSON.stringify({ stateFolder, count, options }) },
  });
  const ended = once(child, "exit").then(() => Promise.reject(new Error("the process ended before it was killed")));
  // Also when it is killed as it should be.
  ended.catch(() => {});
  const [left] = await Promise.race([once(child, "message"), ended]);
  child.kill("SIGKILL");
  await ended.catch(() => {});
  return left;
}
