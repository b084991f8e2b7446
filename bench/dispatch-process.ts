import { type ChildProcess, fork } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A benchmark's server in a process of its own, whose CPU can be read. */
export interface DispatchServer extends AsyncDisposable {
  readonly url: string;
  /** CPU microseconds that the process has used, all threads together. */
  cpuUs(): Promise<number>;
}

/** Starts one. Logging is on, as by default, and goes to a real file. */
export async function startDispatchServer(kind: "bare" | "toolyard" | "toolyard-without-log"): Promise<DispatchServer> {
  const folder = mkdtempSync(join(tmpdir(), "toolyard-bench-"));
  const log = openSync(join(folder, "log"), "w");
  const child = fork(new URL("./dispatch-server.ts", import.meta.url), [kind], {
    stdio: ["ignore", "ignore", log, "ipc"],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once("message", (message: { url: string }) => resolve(message.url));
    child.once("exit", (code) => reject(new Error(`the ${kind} server exited with ${code}; see ${folder}/log`)));
  });
  return {
    url,
    cpuUs: () => readCpu(child),
    async [Symbol.asyncDispose]() {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.disconnect();
      await exited;
      closeSync(log);
      rmSync(folder, { recursive: true });
    },
  };
}

function readCpu(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("message", (message: { cpu: NodeJS.CpuUsage }) => resolve(message.cpu.user + message.cpu.system));
    child.send("cpu");
  });
}
