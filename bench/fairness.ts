// Benchmark: a polite worker's ten calls, alone and beside a greedy worker with 10,000 calls queued, in one run.
import { Agent } from "node:http";
import { sendCrowd } from "./crowd.ts";
import { startHeldServer } from "./held-process.ts";
import { percentile, post } from "./load.ts";
import { printTable } from "./table.ts";

const GREEDY_CALLS = 10_000;
const POLITE_CALLS = 10;
const ROUNDS = 110;
const TOOL_MS = 20;
const WORKS = [
  { name: "default", figure: "≤ 2", limits: {} },
  { name: "32 slots, 16 a worker", figure: "≤ 2", limits: { maxConcurrentCalls: 32, maxConcurrentPerWorker: 16 } },
  // The worst case: nobody is stopped in the middle, so a call may wait as long as one takes before it runs.
  { name: "32 slots, all the greedy worker's", figure: "", limits: { maxConcurrentCalls: 32 } },
];

const toBody = (worker: string) =>
  JSON.stringify({ worker_id: worker, action: "held:pause", params: { ms: TOOL_MS }, timeout_ms: 120_000 });

/** Latencies of the polite worker's calls: ten at a time, and a moment between. */
async function bePolite(url: string, rounds: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true });
  const latencies: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const one = async () => {
      const startedAt = performance.now();
      if ((await post(agent, `${url}/execute`, toBody("polite"))) !== 200) throw new Error("a call failed");
      latencies.push(performance.now() - startedAt);
    };
    // Rounds follow each other on purpose.
    // oxlint-disable-next-line no-await-in-loop
    await Promise.all(Array.from({ length: POLITE_CALLS }, one));
  }
  agent.destroy();
  return latencies;
}

const rows: Record<string, string | number>[] = [];
for (const { name, limits, figure } of WORKS) {
  // One after another on purpose: they would share the CPU.
  // oxlint-disable no-await-in-loop
  await using server = await startHeldServer(limits);
  await bePolite(server.url, ROUNDS);
  const alone = await bePolite(server.url, ROUNDS);
  await server.tell("close");
  const answering = await sendCrowd(
    `${server.url}/execute`,
    Array.from({ length: GREEDY_CALLS }, () => toBody("greedy")),
  );
  const before = await server.holds(GREEDY_CALLS);
  await server.tell("open");
  const beside = await bePolite(server.url, ROUNDS);
  const after = await server.tell("status");
  const answers = await Promise.all(answering);
  rows.push({
    limits: name,
    "queued before → after": `${before.queued} → ${after.queued}`,
    "alone p50 / p99, ms": `${percentile(alone, 50).toFixed(1)} / ${percentile(alone, 99).toFixed(1)}`,
    "beside p50 / p99, ms": `${percentile(beside, 50).toFixed(1)} / ${percentile(beside, 99).toFixed(1)}`,
    "p99 ratio": (percentile(beside, 99) / percentile(alone, 99)).toFixed(2),
    figure,
    "greedy lost": answers.filter(({ status }) => status !== 200).length,
  });
  // oxlint-enable no-await-in-loop
}
printTable(`fairness: ${POLITE_CALLS} calls of ${TOOL_MS} ms beside ${GREEDY_CALLS} of another worker`, rows);
