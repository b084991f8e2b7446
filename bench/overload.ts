// Benchmark: ten times what the server can do for 60 s: goodput against its own peak in the same run, memory, losses.
import { Agent, request } from "node:http";
import { type HeldStatus, startHeldServer } from "./held-process.ts";
import { median, percentile } from "./load.ts";
import { printTable } from "./table.ts";

const SECONDS = Number(process.env["OVERLOAD_SECONDS"] ?? 60);
const PEAK_SECONDS = 10;
/** 16 slots and calls of 200 ms: 80 a second, so that refusing the rest is not what the processors are short of. */
const LIMITS = { maxConcurrentCalls: 16, maxQueuedCalls: 160, maxQueuedPerBackend: 160, maxQueuedPerWorker: 160 };
const TOOL_MS = Number(process.env["OVERLOAD_TOOL_MS"] ?? 200);
const CAPACITY = (LIMITS.maxConcurrentCalls * 1000) / TOOL_MS;
const WORKERS = 32;
const TICK_MS = 10;
const MIB = 1_048_576;

interface Tally {
  sent: number;
  served: number;
  refused: number;
  withoutRetryAfter: number;
  lost: number;
  readonly servedMs: number[];
  readonly refusedMs: number[];
  readonly retryAfter: Set<number>;
}

const newTally = (): Tally => ({
  sent: 0,
  served: 0,
  refused: 0,
  withoutRetryAfter: 0,
  lost: 0,
  servedMs: [],
  refusedMs: [],
  retryAfter: new Set(),
});

/** No more at once than an accept queue holds by default: what overruns it waits a second for its next SYN. */
const agent = new Agent({ keepAlive: true, maxSockets: 400 });

function send(url: string, tally: Tally): Promise<void> {
  const body = JSON.stringify({
    worker_id: `w${tally.sent % WORKERS}`,
    action: "held:pause",
    params: { ms: TOOL_MS },
  });
  tally.sent += 1;
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sending = request(url, { method: "POST", agent, headers }, (response) => {
      response.resume();
      response.on("close", () => {
        const ms = performance.now() - startedAt;
        const retryAfter = Number(response.headers["retry-after"] ?? 0);
        if (!response.complete) tally.lost += 1;
        else if (response.statusCode === 200) {
          tally.served += 1;
          tally.servedMs.push(ms);
        } else if (response.statusCode === 429) {
          tally.refused += 1;
          tally.refusedMs.push(ms);
          tally.retryAfter.add(retryAfter);
          if (retryAfter < 1) tally.withoutRetryAfter += 1;
        } else tally.lost += 1;
        resolve();
      });
    });
    sending.on("error", () => {
      tally.lost += 1;
      resolve();
    });
    sending.end(body);
  });
}

/** Sends so many a second, whatever comes back, and waits for the last answer. */
async function offer(url: string, perSecond: number, seconds: number, tally: Tally, onTick: () => void): Promise<void> {
  const answers: Promise<void>[] = [];
  const startedAt = performance.now();
  for (;;) {
    const elapsedMs = performance.now() - startedAt;
    if (elapsedMs >= seconds * 1000) break;
    const due = Math.floor((elapsedMs * perSecond) / 1000);
    while (answers.length < due) answers.push(send(url, tally));
    onTick();
    // oxlint-disable-next-line no-await-in-loop -- the next tick's calls come with the next tick
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  await Promise.all(answers);
}

/** Keeps as many calls under way as there are slots, and twice as many: the most that it serves without refusing any. */
async function measurePeak(url: string, tally: Tally): Promise<number> {
  const until = performance.now() + PEAK_SECONDS * 1000;
  const startedAt = performance.now();
  const work = async () => {
    // oxlint-disable-next-line no-await-in-loop -- one after another on purpose
    while (performance.now() < until) await send(url, tally);
  };
  await Promise.all(Array.from({ length: LIMITS.maxConcurrentCalls * 2 }, work));
  return tally.served / ((performance.now() - startedAt) / 1000);
}

await using server = await startHeldServer(LIMITS);
await measurePeak(`${server.url}/execute`, newTally());
const peakTally = newTally();
const peak = await measurePeak(`${server.url}/execute`, peakTally);
const idle = await server.tell("status");

const tally = newTally();
const samples: HeldStatus[] = [];
let asking = false;
let ticks = 0;
const sample = () => {
  ticks += 1;
  if (ticks % 50 !== 0 || asking) return;
  asking = true;
  void server.tell("status").then((status) => {
    asking = false;
    samples.push(status);
  });
};
const senderBefore = process.cpuUsage();
const startedAt = performance.now();
await offer(`${server.url}/execute`, CAPACITY * 10, SECONDS, tally, sample);
const seconds = (performance.now() - startedAt) / 1000;
const sender = process.cpuUsage(senderBefore);
const after = await server.tell("status");
agent.destroy();

const goodput = tally.served / seconds;
const quarter = Math.max(1, Math.floor(samples.length / 4));
/** The median of each quarter of the time: what grows for ever is seen to. */
const byQuarter = (field: "rss" | "young" | "heapUsed" | "external") =>
  [[idle], ...[0, 1, 2, 3].map((index) => samples.slice(index * quarter, (index + 1) * quarter))]
    .map((part) => (median(part.map((status) => status[field])) / MIB).toFixed(0))
    .join(" / ");
const ms = (values: readonly number[]) => `${percentile(values, 50).toFixed(1)} / ${percentile(values, 99).toFixed(1)}`;
printTable(
  `overload: ${(tally.sent / seconds / peak).toFixed(1)} times the capacity of ${LIMITS.maxConcurrentCalls} slots for ${SECONDS} s`,
  [
    { what: `peak, calls of ${TOOL_MS} ms served per second, nothing refused`, value: peak.toFixed(0), figure: "" },
    { what: "offered per second", value: (tally.sent / seconds).toFixed(0), figure: "" },
    { what: "served per second (goodput)", value: goodput.toFixed(0), figure: "" },
    { what: "goodput against peak", value: `${((goodput / peak) * 100).toFixed(1)} %`, figure: "≥ 90 %" },
    { what: "sent / served / refused", value: `${tally.sent} / ${tally.served} / ${tally.refused}`, figure: "" },
    { what: "lost", value: tally.lost, figure: "0" },
    { what: "refused without Retry-After", value: tally.withoutRetryAfter, figure: "0" },
    { what: "Retry-After, s", value: [...tally.retryAfter].toSorted((a, b) => a - b).join(", "), figure: "" },
    {
      what: "running and queued, at most",
      value: Math.max(...samples.map(({ queued, running }) => queued + running)),
      figure: `≤ ${16 + LIMITS.maxQueuedCalls}`,
    },
    { what: "left behind", value: after.running + after.queued, figure: "0" },
    { what: "RSS before / in each quarter, MiB", value: byQuarter("rss"), figure: "" },
    { what: "of it the heap's space for new objects, MiB", value: byQuarter("young"), figure: "" },
    { what: "heap in use, garbage included, MiB", value: byQuarter("heapUsed"), figure: "" },
    { what: "buffers and the like outside the heap, MiB", value: byQuarter("external"), figure: "" },
    {
      what: "processor time of the server / of the sender, per second",
      value: [after.cpuMs - idle.cpuMs, sender.user / 1000 + sender.system / 1000]
        .map((spentMs) => `${(spentMs / seconds).toFixed(0)} ms`)
        .join(" / "),
      figure: "",
    },
    { what: "served, p50 / p99 ms (without overload)", value: ms(peakTally.servedMs), figure: "" },
    { what: "served, p50 / p99 ms", value: ms(tally.servedMs), figure: "" },
    { what: "refused, p50 / p99 ms", value: ms(tally.refusedMs), figure: "" },
  ],
);
if (tally.lost > 0) process.exitCode = 1;
