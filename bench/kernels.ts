// Benchmark: kernels without HTTP: a cold start, a warm run, and a tool call from inside the sandbox, against a bare `node -e 0`.
import { execFileSync } from "node:child_process";
import { percentile } from "./load.ts";
import { printTable } from "./table.ts";
import { time } from "./timing.ts";

const { createRuntimeSelector } = await import("../dist/runtimes/selector.js");
const selector = createRuntimeSelector();
const { signal } = new AbortController();
const status = await selector.status(signal);

const STARTS = 15;
const RUNS = 300;
const CALLS = 500;

const languages = [
  { runtime: "quickjs", language: "javascript", empty: "1+1" },
  { runtime: "local", language: "javascript", empty: "1+1" },
  { runtime: "local", language: "python", empty: "print(1+1)" },
  { runtime: "local", language: "bash", empty: "echo 2" },
] as const;

const callLoop = {
  javascript: `for (let i = 0; i < ${CALLS}; i++) await tools.call("bench:echo", { i })`,
  python: `for i in range(${CALLS}):\n    await tools.call("bench:echo", {"i": i})`,
};
const callTogether = {
  javascript: `(await Promise.all(Array.from({ length: 1000 }, (_, i) => tools.call("bench:wait", { i })))).length`,
  python: `import asyncio\nlen(await asyncio.gather(*[tools.call("bench:wait", {"i": i}) for i in range(1000)]))`,
};

const ok = (data: unknown) => ({ ok: true as const, data, meta: {} as never });
const rows: Record<string, string>[] = [];
const bare = Array.from({ length: STARTS }, () => {
  const startedAt = performance.now();
  execFileSync(process.execPath, ["-e", "0"]);
  return performance.now() - startedAt;
});
rows.push({
  kernel: "baseline: node -e 0",
  "cold p50 ms": percentile(bare, 50).toFixed(0),
  "cold p99 ms": percentile(bare, 99).toFixed(0),
  "warm run p50 ms": "",
  "warm run p99 ms": "",
  "tool call p50 ms": "",
  "1000 parallel 20 ms calls, ms": "",
});
for (const { runtime: name, language, empty } of languages) {
  if (status[name]?.languages[language]?.available !== true) {
    console.log(`${name} ${language}: skipped, ${status[name]?.languages[language]?.reason ?? status[name]?.reason}`);
    continue;
  }
  const runtime = await selector.select({ runtime: name }, signal);
  const cold: number[] = [];
  for (let start = 0; start < STARTS; start += 1) {
    let stop = async () => {};
    cold.push(
      await time(async () => {
        const sandbox = await runtime.create({}, signal);
        stop = () => sandbox.stop();
        const kernel = await sandbox.openKernel(language, signal);
        await kernel.run({ code: empty, deadlineMs: 10_000 }, { signal });
      }),
    );
    await stop();
  }
  const sandbox = await runtime.create({ limits: { calls: 10_000, callsInFlight: 1_000 } }, signal);
  const kernel = await sandbox.openKernel(language, signal);
  const run = (code: string, onCall?: () => Promise<never>) =>
    kernel.run({ code, deadlineMs: 60_000 }, { signal, ...(onCall !== undefined && { onCall }) });
  const warm: number[] = [];
  for (let index = 0; index < RUNS; index += 1) warm.push(await time(() => run(empty)));

  let roundTrip = "";
  let together = "";
  if (language !== "bash") {
    const answer = async () => ok({ i: 1 }) as never;
    const wait = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return answer();
    };
    await run(callLoop[language], answer);
    const loops: number[] = [];
    for (let loop = 0; loop < 5; loop += 1) loops.push((await time(() => run(callLoop[language], answer))) / CALLS);
    roundTrip = percentile(loops, 50).toFixed(3);
    const bursts: number[] = [];
    for (let burst = 0; burst < 5; burst += 1) {
      bursts.push(
        await time(async () => {
          const { value, error } = await run(callTogether[language], wait);
          if (value !== 1000) throw new Error(`the burst answered ${value}: ${error?.message}`);
        }),
      );
    }
    together = percentile(bursts, 50).toFixed(0);
  }
  await sandbox.stop();
  rows.push({
    kernel: `${name} ${language}`,
    "cold p50 ms": percentile(cold, 50).toFixed(0),
    "cold p99 ms": percentile(cold, 99).toFixed(0),
    "warm run p50 ms": percentile(warm, 50).toFixed(2),
    "warm run p99 ms": percentile(warm, 99).toFixed(2),
    "tool call p50 ms": roundTrip,
    "1000 parallel 20 ms calls, ms": together,
  });
}
printTable(
  `kernels: ${STARTS} cold starts, ${RUNS} warm runs, ${CALLS} calls in turn (figures: warm < 3 ms, call ≤ 0.35 ms, 1000 parallel ≤ 150 ms)`,
  rows,
);
await selector.close();
