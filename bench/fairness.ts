// Benchmark: a polite worker's ten calls, alone and beside a greedy worker with 10,000 calls queued, in turn in one run.
import { fork } from "node:child_process";
import type { EngineLimits } from "../src/engine/limits.ts";
import { sendCrowd } from "./crowd.ts";
import { type HeldStatus, startHeldServer } from "./held-process.ts";
import { median, percentile } from "./load.ts";
import type { PoliteOrder } from "./polite-client.ts";
import { printTable } from "./table.ts";

const GREEDY_CALLS = 10_000;
const POLITE_CALLS = 10;
const ROUNDS = 60;
const TOOL_MS = 20;
const WORKS = [
  { name: "default", figure: "≤ 2", repeats: 7, limits: {} },
  {
    name: "32 slots, 16 a worker",
    figure: "≤ 2",
    repeats: 3,
    limits: { maxConcurrentCalls: 32, maxConcurrentPerWorker: 16 },
  },
  // The worst case: nobody is stopped in the middle, so a call may wait as long as one takes before it runs.
  { name: "32 slots, all the greedy worker's", figure: "", repeats: 3, limits: { maxConcurrentCalls: 32 } },
];

const toBody = (worker: string) =>
  JSON.stringify({ worker_id: worker, action: "held:pause", params: { ms: TOOL_MS }, timeout_ms: 120_000 });

interface Comparison {
  readonly alone: readonly number[];
  readonly beside: readonly number[];
  readonly queued: string;
  readonly lost: number;
  readonly after: HeldStatus;
}

async function compare(limits: Partial<EngineLimits>): Promise<Comparison> {
  await using server = await startHeldServer(limits);
  const client = fork(new URL("./polite-client.ts", import.meta.url));
  const order: PoliteOrder = {
    url: `${server.url}/execute`,
    body: toBody("polite"),
    calls: POLITE_CALLS,
    rounds: ROUNDS,
  };
  const measure = () =>
    new Promise<number[]>((resolve) => {
      client.once("message", (latencies: number[]) => resolve(latencies));
      client.send(order);
    });
  await measure();
  const alone = await measure();
  await server.tell("close");
  const bodies = Array.from({ length: GREEDY_CALLS }, () => toBody("greedy"));
  const answering = await sendCrowd(order.url, bodies);
  const before = await server.holds(GREEDY_CALLS);
  await server.tell("open");
  await server.tell("watch");
  const beside = await measure();
  const after = await server.tell("unwatch");
  client.disconnect();
  const answers = await Promise.all(answering);
  const lost = answers.filter(({ status }) => status !== 200).length;
  return { alone, beside, queued: `${before.queued} → ${after.queued}`, lost, after };
}

const wanted = process.env["FAIRNESS_ONLY"];
const rows: Record<string, string | number>[] = [];
for (const { name, limits, figure, repeats } of WORKS.filter((work) => wanted === undefined || work.name === wanted)) {
  const runs: Comparison[] = [];
  // One after another on purpose: they would share the CPU.
  // oxlint-disable-next-line no-await-in-loop
  for (let repeat = 0; repeat < repeats; repeat += 1) runs.push(await compare(limits));
  const middle = (pick: (run: Comparison) => number) => median(runs.map(pick));
  const ratios = runs.map(({ alone, beside }) => percentile(beside, 99) / percentile(alone, 99));
  rows.push({
    limits: name,
    runs: repeats,
    "queued before → after": runs.at(-1)?.queued ?? "",
    "alone p50 / p99, ms": `${middle((run) => percentile(run.alone, 50)).toFixed(1)} / ${middle((run) => percentile(run.alone, 99)).toFixed(1)}`,
    "beside p50 / p99, ms": `${middle((run) => percentile(run.beside, 50)).toFixed(1)} / ${middle((run) => percentile(run.beside, 99)).toFixed(1)}`,
    "p50 ratio": middle((run) => percentile(run.beside, 50) / percentile(run.alone, 50)).toFixed(2),
    "p99 ratio, median": median(ratios).toFixed(2),
    "least / most": `${Math.min(...ratios).toFixed(2)} / ${Math.max(...ratios).toFixed(2)}`,
    "server CPU in one turn, p50 / p99 / most, ms": [
      middle(({ after }) => percentile(after.turnsMs, 50)),
      middle(({ after }) => percentile(after.turnsMs, 99)),
      middle(({ after }) => Math.max(...after.turnsMs)),
    ]
      .map((turnMs) => turnMs.toFixed(1))
      .join(" / "),
    "its event loop late, p99 / most, ms": [
      middle(({ after }) => after.lateMs[0]),
      middle(({ after }) => after.lateMs[1]),
    ]
      .map((lateMs) => lateMs.toFixed(1))
      .join(" / "),
    "longest GC pause, ms": middle(({ after }) => after.longestPauseMs).toFixed(1),
    figure,
    "greedy lost": runs.reduce((sum, run) => sum + run.lost, 0),
  });
}
printTable(
  `fairness: ${POLITE_CALLS} calls of ${TOOL_MS} ms beside ${GREEDY_CALLS} of another worker, medians of runs`,
  rows,
);
