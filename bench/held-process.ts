import { type ChildProcess, fork } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EngineLimits } from "../src/engine/limits.ts";

/** What the server holds at a moment. */
export interface HeldStatus {
  readonly running: number;
  readonly queued: number;
  /** Resident bytes of its process. */
  readonly rss: number;
  /** Bytes of its heap that are in use, garbage that is not yet collected included. */
  readonly heapUsed: number;
  /** Bytes outside the heap that objects in it own: buffers, mostly. */
  readonly external: number;
  /** Resident bytes of the heap's space for new objects. */
  readonly young: number;
  /** Processor time of its process since its start, all threads. */
  readonly cpuMs: number;
  /** With `unwatch`: processor time of the main thread in each turn of its event loop that started a call since `watch`. */
  readonly turnsMs: readonly number[];
  /** How late its event loop was since `watch`: the 99th percentile, and the most. */
  readonly lateMs: readonly [number, number];
  /** The longest time that a garbage collection stopped it since `watch`. */
  readonly longestPauseMs: number;
}

/** The load benchmarks' server, in a process of its own. */
export interface HeldServer extends AsyncDisposable {
  readonly url: string;
  /** `close` holds the calls to come, `open` lets those that are held go; between `watch` and `unwatch` the event loop is measured. */
  tell(message: "status" | "open" | "close" | "watch" | "unwatch"): Promise<HeldStatus>;
  /** Resolves once this many calls run or wait. */
  holds(count: number): Promise<HeldStatus>;
}

const POLL_MS = 20;

/** Starts one. Logging and the event log are on, as by default, and go to real files. */
export async function startHeldServer(limits: Partial<EngineLimits> = {}): Promise<HeldServer> {
  const folder = mkdtempSync(join(tmpdir(), "toolyard-bench-"));
  const log = openSync(join(folder, "log"), "w");
  const child = fork(new URL("./held-server.ts", import.meta.url), [JSON.stringify(limits), join(folder, "data")], {
    stdio: ["ignore", "ignore", log, "ipc"],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once("message", (message: { url: string }) => resolve(message.url));
    child.once("exit", (code) => reject(new Error(`the server exited with ${code}; see ${folder}/log`)));
  });
  const tell = (message: string) => ask(child, message);
  return {
    url,
    tell,
    async holds(count) {
      for (;;) {
        // One after another on purpose: it is a poll.
        // oxlint-disable-next-line no-await-in-loop
        const status = await tell("status");
        if (status.running + status.queued >= count) return status;
        // oxlint-disable-next-line no-await-in-loop
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
    async [Symbol.asyncDispose]() {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.disconnect();
      await exited;
      closeSync(log);
      rmSync(folder, { recursive: true });
    },
  };
}

function ask(child: ChildProcess, message: string): Promise<HeldStatus> {
  return new Promise((resolve) => {
    child.once("message", (status: HeldStatus) => resolve(status));
    child.send(message);
  });
}
