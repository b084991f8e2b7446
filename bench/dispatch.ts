// Benchmark: what Toolyard adds to a request: CPU, throughput and latency against a bare Hono route, side by side in one run.
import { startDispatchServer } from "./dispatch-process.ts";
import { type LoadResult, median, runLoad } from "./load.ts";
import { printTable } from "./table.ts";

interface Work {
  readonly name: string;
  readonly server: "bare" | "toolyard";
  readonly prepare?: (url: string) => Promise<void>;
  readonly body: (index: number) => string;
  /** The highest ratio of CPU per request that DESIGN.md allows. */
  readonly figure?: number;
}

const ROUNDS = 15;
const REQUESTS = 3_000;
const CONCURRENCIES = [1, 8, 64];

const call = (worker: string, action: string, params: object) => JSON.stringify({ worker_id: worker, action, params });

const works: readonly Work[] = [
  { name: "bare Hono route", server: "bare", body: () => call("w", "echo", { message: "hello" }) },
  { name: "echo", server: "toolyard", body: () => call("w", "echo", { message: "hello" }), figure: 1.5 },
  {
    name: "existing session",
    server: "toolyard",
    prepare: async (url) => {
      const body = JSON.stringify({ worker_id: "kept", resource_type: "counter" });
      await fetch(`${url}/api/v1/session/create`, { method: "POST", body });
    },
    body: () => call("kept", "counter:incr", {}),
    figure: 1.6,
  },
  {
    name: "temporary session",
    server: "toolyard",
    body: (index) => call(`t${index % 512}`, "counter:incr", {}),
    figure: 2,
  },
];

await using bare = await startDispatchServer("bare");
await using toolyard = await startDispatchServer("toolyard");
const servers = { bare, toolyard };
for (const work of works) await work.prepare?.(servers[work.server].url);
const results = new Map<string, (LoadResult & { cpuUs: number })[]>();
// Round 0 warms up the compilers and is thrown away.
for (let round = 0; round <= ROUNDS; round += 1) {
  for (const concurrency of CONCURRENCIES) {
    for (const work of works) {
      const server = servers[work.server];
      const before = await server.cpuUs();
      const result = await runLoad({
        url: `${server.url}/execute`,
        body: work.body,
        requests: REQUESTS,
        concurrency,
      });
      const cpuUs = ((await server.cpuUs()) - before) / REQUESTS;
      if (result.failures > 0) throw new Error(`${work.name}: ${result.failures} requests failed`);
      if (round === 0) continue;
      const key = `${work.name}|${concurrency}`;
      results.set(key, [...(results.get(key) ?? []), { ...result, cpuUs }]);
    }
  }
}
const rows = CONCURRENCIES.flatMap((concurrency) =>
  works.map((work) => {
    const own = results.get(`${work.name}|${concurrency}`) ?? [];
    const bare = results.get(`${works[0]?.name}|${concurrency}`) ?? [];
    // Each round is compared with the baseline of its own round, a moment before it.
    const ratio = median(own.map((round, index) => round.cpuUs / (bare[index]?.cpuUs ?? Number.NaN)));
    const of = (pick: (round: LoadResult & { cpuUs: number }) => number) => median(own.map(pick));
    return {
      work: work.name,
      concurrency,
      "CPU µs/request": of((round) => round.cpuUs).toFixed(0),
      ratio: ratio.toFixed(2),
      figure: work.figure === undefined ? "" : `≤ ${work.figure}`,
      "req/s": of((round) => round.requestsPerSecond).toFixed(0),
      "p50 ms": of((round) => round.p50Ms).toFixed(3),
      "p99 ms": of((round) => round.p99Ms).toFixed(3),
    };
  }),
);
printTable(`dispatch: POST /execute, ${ROUNDS} rounds of ${REQUESTS} requests, medians`, rows);
