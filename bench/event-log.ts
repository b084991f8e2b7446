// Benchmark: what the event log costs a call: CPU per request with the log on, as by default (sqlite), against the same server with it off, side by side in one run.
import { startDispatchServer } from "./dispatch-process.ts";
import { median, runLoad } from "./load.ts";
import { printTable } from "./table.ts";

const ROUNDS = 9;
const REQUESTS = 4_000;
const CONCURRENCIES = [8, 64];

const call = (worker: string, action: string, params: object) => JSON.stringify({ worker_id: worker, action, params });
const works: readonly { readonly name: string; readonly body: (index: number) => string }[] = [
  { name: "echo", body: () => call("w", "echo", { message: "hello" }) },
  { name: "existing session", body: () => call("kept", "counter:incr", {}) },
  { name: "temporary session", body: (index) => call(`t${index % 512}`, "counter:incr", {}) },
];

await using bare = await startDispatchServer("bare");
await using off = await startDispatchServer("toolyard-without-log");
await using on = await startDispatchServer("toolyard");
for (const { url } of [off, on]) {
  const body = JSON.stringify({ worker_id: "kept", resource_type: "counter" });
  await fetch(`${url}/api/v1/session/create`, { method: "POST", body });
}

const cpu = new Map<string, number[]>();
// Round 0 warms up the compilers and is thrown away.
for (let round = 0; round <= ROUNDS; round += 1) {
  for (const concurrency of CONCURRENCIES) {
    for (const work of works) {
      // In turns, so that a busy machine hits all alike.
      const servers = round % 2 === 0 ? { bare, off, on } : { on, off, bare };
      for (const [name, server] of Object.entries(servers)) {
        const before = await server.cpuUs();
        const result = await runLoad({
          url: `${server.url}/execute`,
          body: work.body,
          requests: REQUESTS,
          concurrency,
        });
        // What the log still has to write belongs to these requests.
        await new Promise((resolve) => setTimeout(resolve, 100));
        const cpuUs = ((await server.cpuUs()) - before) / REQUESTS;
        if (result.failures > 0) throw new Error(`${work.name}, ${name}: ${result.failures} requests failed`);
        const key = `${work.name}|${concurrency}|${name}`;
        if (round > 0) cpu.set(key, [...(cpu.get(key) ?? []), cpuUs]);
      }
    }
  }
}

const rows = CONCURRENCIES.flatMap((concurrency) =>
  works.map(({ name }) => {
    const of = (server: string) => cpu.get(`${name}|${concurrency}|${server}`) ?? [];
    // Each round is compared with its own round of the other server, a moment before or after it.
    const against = (server: string, other: string) =>
      median(of(server).map((us, round) => us / (of(other)[round] ?? Number.NaN))).toFixed(2);
    return {
      work: name,
      concurrency,
      "bare, CPU µs": median(of("bare")).toFixed(0),
      "off, CPU µs": median(of("off")).toFixed(0),
      "on, CPU µs": median(of("on")).toFixed(0),
      "on : off": against("on", "off"),
      "off : bare": against("off", "bare"),
      "on : bare": against("on", "bare"),
    };
  }),
);
printTable(`event log: CPU per request, ${ROUNDS} rounds of ${REQUESTS} requests, medians`, rows);
