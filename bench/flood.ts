// Benchmark: 16,000 requests at once, all of them inside the server before the first is answered, and none lost.
import { sendCrowd } from "./crowd.ts";
import { startHeldServer } from "./held-process.ts";
import { percentile } from "./load.ts";
import { printTable } from "./table.ts";

const COUNTS = [1_000, 4_000, 16_000];
const WORKERS = 4_096;

const MIB = 1_048_576;
const rows: Record<string, string | number>[] = [];
for (const count of COUNTS) {
  // One after another on purpose: they would share the CPU.
  // oxlint-disable no-await-in-loop
  await using server = await startHeldServer();
  const idle = await server.tell("close");
  const bodies = Array.from({ length: count }, (_, n) =>
    JSON.stringify({ worker_id: `w${n % WORKERS}`, action: "held:pause", params: { ms: 0 } }),
  );
  const sentAt = performance.now();
  const answering = await sendCrowd(`${server.url}/execute`, bodies);
  const held = await server.holds(count);
  const inAt = performance.now();
  await server.tell("open");
  const answers = await Promise.all(answering);
  const doneAt = Math.max(...answers.map(({ at }) => at));
  const left = await server.tell("status");
  rows.push({
    requests: count,
    answered: answers.filter(({ status }) => status === 200).length,
    lost: answers.filter(({ status }) => status !== 200).length,
    "running / queued at once": `${held.running} / ${held.queued}`,
    "in, req/s": Math.round((count / (inAt - sentAt)) * 1000),
    "out, req/s": Math.round((count / (doneAt - inAt)) * 1000),
    "p50 / p99 to the answer, ms": [50, 99]
      .map((p) =>
        percentile(
          answers.map(({ at }) => at - inAt),
          p,
        ).toFixed(0),
      )
      .join(" / "),
    "RSS idle → held, MiB": `${Math.round(idle.rss / MIB)} → ${Math.round(held.rss / MIB)}`,
    "KiB per request": ((held.rss - idle.rss) / count / 1024).toFixed(1),
    "left behind": left.running + left.queued,
  });
  // oxlint-enable no-await-in-loop
}
printTable(`flood: calls held at once, from ${WORKERS} workers`, rows);
