// Fork a session and compare two branches: the data and the variables are prepared once, and each branch goes on from there.
// Run it with `npx node examples/fork.ts`.
import { Sandbox } from "toolyard";

const PREPARE = `
import random
random.seed(7)
points = [(x, 3 * x + random.gauss(0, 5)) for x in range(200)]
def error_of(model): return sum((y - model(x)) ** 2 for x, y in points) / len(points)
len(points)`;

const BRANCHES = {
  "branch-mean": `
mean = sum(y for _, y in points) / len(points)
round(error_of(lambda x: mean), 1)`,
  "branch-line": `
slope = sum(x * y for x, y in points) / sum(x * x for x, _ in points)
round(error_of(lambda x: slope * x), 1)`,
};

await using trunk = await Sandbox.open({ workerId: "trunk" });
await trunk.createSession("code");
const { abilities } = await trunk.execute("sandbox:info");
if (!abilities.includes("files")) {
  console.log("this runtime has no files: install bubblewrap, or a Docker Engine, for this example");
  process.exit(0);
}
const prepared = await trunk.execute("code:run", { language: "python", code: PREPARE });
await trunk.execute("file:write", { path: "notes.txt", content: "written before the fork\n" });
console.log(`prepared ${prepared.text} points`);

const forked = await trunk.execute("sandbox:fork", { worker_id: Object.keys(BRANCHES) });
for (const { name, saved, skipped } of forked.kernels) {
  console.log(
    `kernel ${name}: ${saved.join(", ")} came along; left behind: ${skipped.map((one) => one.name).join(", ") || "-"}`,
  );
}

const errors = await Promise.all(
  Object.entries(BRANCHES).map(async ([workerId, code]) => {
    await using branch = await Sandbox.open({ serverUrl: trunk.serverUrl, workerId });
    const { result, error } = await branch.execute("code:run", { language: "python", code });
    if (error !== null) throw new Error(`${workerId}: ${error.name}: ${error.message}`);
    const notes = await branch.execute("file:read", { path: "notes.txt" });
    console.log(`${workerId}: mean squared error ${result}, notes: ${notes.content.trim()}`);
    return Number(result);
  }),
);
console.log(`the better branch: ${Object.keys(BRANCHES)[errors.indexOf(Math.min(...errors))]}`);
