import { parentPort, workerData } from "node:worker_threads";
import { type Check, judge } from "./judge.ts";

// The thread that metrics run in: judges what it was started with, tells each judgement, and ends.
for (const check of workerData as readonly Check[]) {
  // oxlint-disable-next-line no-await-in-loop -- in their order, so that one that takes too long is known
  parentPort?.postMessage(await judge(check));
}
