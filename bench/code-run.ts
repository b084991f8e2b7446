// Benchmark: `code:run` over HTTP with a warm kernel, against the echo tool of the same server in the same run (figure: p50 < 3 ms).
import { runLoad } from "./load.ts";
import { startDispatchServer } from "./dispatch-process.ts";
import { printTable } from "./table.ts";

const REQUESTS = 300;
const ROUNDS = 5;

await using server = await startDispatchServer("toolyard");
const post = async (path: string, body: object) =>
  (await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) })).json();
interface Ready {
  readonly runtimes: Readonly<Record<string, { readonly available: boolean; readonly reason?: string }>>;
}
// The server's own answer; the shape is what docs/http.md says.
const ready = (await (await fetch(`${server.url}/ready`)).json()) as Ready;

const kinds = [
  { name: "echo (baseline)", action: "echo", params: { message: "hello" } },
  {
    name: "quickjs javascript",
    runtime: "quickjs",
    action: "code:run",
    params: { language: "javascript", code: "1+1" },
  },
  { name: "local javascript", runtime: "local", action: "code:run", params: { language: "javascript", code: "1+1" } },
  {
    name: "local python print(1+1)",
    runtime: "local",
    action: "code:run",
    params: { language: "python", code: "print(1+1)" },
  },
  { name: "local bash", runtime: "local", action: "code:run", params: { language: "bash", code: "echo 2" } },
].filter(({ name, runtime }) => {
  if (runtime === undefined || ready.runtimes[runtime]?.available) return true;
  console.log(`${name}: skipped, ${ready.runtimes[runtime]?.reason}`);
  return false;
});

const results = new Map<string, { p50Ms: number; p99Ms: number }[]>();
for (const { name, runtime, action, params } of kinds) {
  if (runtime === undefined) continue;
  await post("/api/v1/session/create", { worker_id: name, resource_type: "code", session_config: { runtime } });
  await post("/execute", { worker_id: name, action, params });
}
for (let round = 0; round <= ROUNDS; round += 1) {
  for (const { name, action, params } of kinds) {
    const body = JSON.stringify({ worker_id: name, action, params });
    const result = await runLoad({
      url: `${server.url}/execute`,
      body: () => body,
      requests: REQUESTS,
      concurrency: 1,
    });
    if (result.failures > 0) throw new Error(`${name}: ${result.failures} failed`);
    if (round > 0) results.set(name, [...(results.get(name) ?? []), result]);
  }
}
const middle = (name: string, pick: "p50Ms" | "p99Ms") =>
  (results.get(name) ?? []).map((round) => round[pick]).toSorted((left, right) => left - right)[
    Math.floor(ROUNDS / 2)
  ] ?? Number.NaN;
printTable(
  `code:run over HTTP, warm, one at a time, ${ROUNDS} rounds of ${REQUESTS}, medians`,
  kinds.map(({ name }) => ({
    work: name,
    "p50 ms": middle(name, "p50Ms").toFixed(2),
    "p99 ms": middle(name, "p99Ms").toFixed(2),
    "ratio of p50": (middle(name, "p50Ms") / middle("echo (baseline)", "p50Ms")).toFixed(1),
  })),
);
