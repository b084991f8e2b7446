// An evaluation harness: 64 workers, each with a session of its own, on one server and one connection pool.
// Outcomes are counted apart, so that a failure of the server is never taken for a failure of the model.
// Run it with `npx node examples/harness.ts`.
import { Sandbox } from "toolyard";

const WORKERS = 64;
const STEPS = 5;

await using host = await Sandbox.open();
const counts = { ok: 0, tool_error: 0, limit: 0, infra_error: 0, rejected: 0 };
let finished = 0;

async function rollout(index: number): Promise<number> {
  await using sandbox = host.forWorker(`rollout-${index}`);
  // Without its session each call would get a temporary one, and what is lost with those looks like the model's own failure.
  const { status, sessions } = await sandbox.createSession("code");
  if (status !== "success") throw new Error(`rollout ${index} has no session: ${JSON.stringify(sessions)}`);
  await sandbox.execute("code:run", { language: "javascript", code: `let state = ${index}` });
  for (let step = 0; step < STEPS; step += 1) {
    // `call` returns the envelope's facts in place of throwing: the harness wants the outcome.
    const result = await sandbox.call("code:run", { language: "javascript", code: "state += 1" });
    counts[result.meta.outcome] += 1;
  }
  const { result } = await sandbox.execute("code:run", { language: "javascript", code: "state" });
  finished += 1;
  process.stderr.write(`\r${finished}/${WORKERS} rollouts`);
  return Number(result);
}

const startedAt = performance.now();
const finals = await Promise.all(Array.from({ length: WORKERS }, (_, index) => rollout(index)));
const seconds = (performance.now() - startedAt) / 1000;

const right = finals.filter((final, index) => final === index + STEPS).length;
console.log(
  `\n${right}/${WORKERS} rollouts kept their own state; ${WORKERS * (STEPS + 2)} calls in ${seconds.toFixed(1)} s`,
);
console.log("outcomes:", counts);
if (right !== WORKERS) process.exitCode = 1;
