// Benchmark: 4,096 sessions held at once, each answering, and what one costs the server in memory (figure: ≤ 20 KB idle), against none.
import { fork } from "node:child_process";
import { percentile } from "./load.ts";
import { printTable } from "./table.ts";

const SESSIONS = 4_096;
const PARALLEL = 64;

const child = fork(new URL("./dispatch-server.ts", import.meta.url), ["toolyard"], {
  execArgv: ["--expose-gc"],
  stdio: ["ignore", "ignore", "ignore", "ipc"],
});
const ask = <T>(message: string): Promise<T> =>
  new Promise((resolve) => {
    // The server answers one question at a time.
    child.once("message", (answer) => resolve(answer as T));
    if (message !== "") child.send(message);
  });
const { url } = await ask<{ url: string }>("");
const memory = async () => (await ask<{ memory: NodeJS.MemoryUsage }>("memory")).memory;

async function forEachSession(work: (index: number) => Promise<void>): Promise<number[]> {
  const latencies: number[] = [];
  let next = 0;
  const run = async () => {
    while (next < SESSIONS) {
      const index = next;
      next += 1;
      const startedAt = performance.now();
      await work(index);
      latencies.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, run));
  return latencies;
}

async function post(path: string, body: object): Promise<{ code: number; data: { value?: number } }> {
  const response = await fetch(url + path, { method: "POST", body: JSON.stringify(body) });
  return (await response.json()) as { code: number; data: { value?: number } };
}

async function create(index: number): Promise<void> {
  const { code } = await post("/api/v1/session/create", { worker_id: `held-${index}`, resource_type: "counter" });
  if (code !== 0) throw new Error(`session ${index} was not made: code ${code}`);
}

async function expectValue(index: number, value: number): Promise<void> {
  const { data } = await post("/execute", { worker_id: `held-${index}`, action: "counter:incr" });
  if (data.value !== value) throw new Error(`session ${index} answered ${data.value}, not ${value}`);
}

try {
  // Once with all of them, so that buffers and compiled code are there before the baseline is read.
  await forEachSession((index) =>
    post("/execute", { worker_id: `warm-${index}`, action: "counter:incr" }).then(() => undefined),
  );
  const before = await memory();
  const creating = await forEachSession(create);
  const idle = await memory();
  const first = await forEachSession((index) => expectValue(index, 1));
  const second = await forEachSession((index) => expectValue(index, 2));
  const used = await memory();
  const perSession = (after: NodeJS.MemoryUsage, key: "heapUsed" | "rss") =>
    `${((after[key] - before[key]) / SESSIONS / 1000).toFixed(1)} KB`;
  printTable(`${SESSIONS} held sessions, ${PARALLEL} requests at a time`, [
    {
      what: "create, p50 / p99 ms",
      value: `${percentile(creating, 50).toFixed(2)} / ${percentile(creating, 99).toFixed(2)}`,
    },
    { what: "answers that were right", value: `${first.length + second.length} of ${2 * SESSIONS}` },
    {
      what: "call, p50 / p99 ms",
      value: `${percentile(second, 50).toFixed(2)} / ${percentile(second, 99).toFixed(2)}`,
    },
    { what: "heap per idle session (figure ≤ 20 KB)", value: perSession(idle, "heapUsed") },
    { what: "heap per session after two calls", value: perSession(used, "heapUsed") },
    { what: "resident memory per session after two calls", value: perSession(used, "rss") },
  ]);
} finally {
  child.disconnect();
}
