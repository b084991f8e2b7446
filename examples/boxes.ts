// 32 workers, each in a box of its own: each writes a file, starts a process and looks for those of the others.
// Run it with `npx node examples/boxes.ts`.
import { Sandbox } from "toolyard";

const WORKERS = 32;

await using host = await Sandbox.open();
const startedAt = performance.now();

async function work(index: number): Promise<{ readonly box: string; readonly sees: string }> {
  await using sandbox = await Sandbox.open({ serverUrl: host.serverUrl, workerId: `worker-${index}` });
  await sandbox.createSession("code");
  const { sandbox_id: box, abilities } = await sandbox.execute("sandbox:info");
  if (!abilities.includes("files")) return { box, sees: "no files" };
  await sandbox.execute("file:write", { path: "/tmp/mine", content: `of worker ${index}` });
  await sandbox.execute("bash:run", { command: "sleep 600", background: true });
  // A command in the background has been started when the call answers, and may not be what it becomes yet.
  const count = "n=$(grep -al '^sleep.600' /proc/[0-9]*/cmdline | wc -l)";
  const look = await sandbox.execute("bash:run", {
    command: `until ${count}; [ $n -gt 0 ]; do sleep 0.1; done; cat /tmp/mine; echo $n`,
  });
  if (look.background) throw new Error("it ran in the background");
  process.stderr.write(".");
  return { box, sees: look.stdout };
}

const seen = await Promise.all(Array.from({ length: WORKERS }, (_, index) => work(index)));
const seconds = (performance.now() - startedAt) / 1000;
if (seen.some(({ sees }) => sees === "no files")) {
  console.log("this runtime has no files: install bubblewrap, or a Docker Engine, for this example");
  process.exit(0);
}
const boxes = new Set(seen.map(({ box }) => box)).size;
const alone = seen.filter(({ sees }, index) => sees === `of worker ${index}1\n`).length;
console.log(
  `\n${WORKERS} workers in ${boxes} boxes, ${seconds.toFixed(1)} s; ${alone} saw their own file and process only`,
);
if (boxes !== WORKERS || alone !== WORKERS) process.exitCode = 1;
