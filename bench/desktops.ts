// Benchmark: desktops through the server: the first usable one cold and from the pool, screenshot and click against spawned programs, eight at once, memory.
import { execFileSync } from "node:child_process";
import { percentile } from "./load.ts";
import { type ServerProcess, startServerProcess } from "./server-process.ts";
import { printTable } from "./table.ts";
import { type Row, time, times, toRow } from "./timing.ts";

const { configSchema } = await import("../dist/config/schema.js");
const { openRuntimes } = await import("../dist/plugins/open-runtimes.js");
const { SandboxDesktopProvider } = await import("../dist/backends/vm/desktop/sandbox-provider.js");
const { openDesktop } = await import("../dist/backends/vm/desktop/ready-desktop.js");
const { systemClock } = await import("../dist/core/clock.js");

const COLD = 8;
const WARM = 12;
const POOL = 3;
const CALLS = 100;
const SPAWNS = 25;
const HELD = 8;
const MIB = 1_048_576;
const LIMITS = { memoryMiB: 2_048, pids: 512, diskMiB: 1_024, cpus: 2 };
/** What the desktops show while they are measured: a terminal full of text, so that a screenshot is no plain colour. */
const SETUP = [
  {
    do: "launch",
    command: ["xterm", "-geometry", "120x50+10+10", "-e", "sh", "-c", "ls -lR /usr/share | head -2000; sleep 86400"],
  },
  { do: "wait", ms: 1_500 },
];
const { signal } = new AbortController();

/** A row with what DESIGN.md asks for. */
function show(work: string, values: readonly number[], figure = "", baseline = values): Row {
  return { ...toRow(work, values, { baseline, digits: 3 }), figure };
}

function start(runtime: string, config: object = {}): Promise<ServerProcess> {
  const vm = { backend: "vm", config: { provider: runtime, ...config } };
  return startServerProcess({
    resources: { vm },
    runtimes: { order: [runtime] },
    warmup: { enabled: "pool" in config, resources: ["vm"] },
  });
}

const create = (server: ServerProcess, id: string) =>
  server.post("/api/v1/session/create", { worker_id: id, resource_type: "vm" });
const destroy = (server: ServerProcess, id: string) =>
  server.post("/api/v1/session/destroy", { worker_id: id, resource_type: "vm" });

async function execute(server: ServerProcess, id: string, tool: string, params: object = {}): Promise<unknown> {
  const { data } = await server.post("/execute", { worker_id: id, action: `vm:${tool}`, params });
  return data;
}

async function runCommand(server: ServerProcess, id: string, ...command: string[]): Promise<void> {
  const done = await execute(server, id, "run_command", { command });
  if (Reflect.get(Object(done), "exit_code") !== 0) throw new Error(`${command[0]}: ${JSON.stringify(done)}`);
}

async function poolIsFull(server: ServerProcess): Promise<void> {
  for (;;) {
    const { backends } = await server.get("/ready");
    const pool: unknown = Reflect.get(
      Object(Reflect.get(Object(Reflect.get(Object(backends), "vm")), "details")),
      "pool",
    );
    if (Number(Reflect.get(Object(pool), "ready")) >= POOL) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** From the request for a session to its first screenshot. */
async function measureStarts(runtime: string): Promise<Row[]> {
  const first = async (server: ServerProcess, count: number, ready: () => Promise<void>) => {
    const values: number[] = [];
    for (let index = 0; index < count; index += 1) {
      await ready();
      values.push(
        await time(async () => {
          await create(server, `w${index}`);
          await execute(server, `w${index}`, "screenshot");
        }),
      );
      await destroy(server, `w${index}`);
    }
    return values;
  };
  await using bare = await start(runtime);
  // The first container of an image is looked into; that is once, not each time.
  await first(bare, 1, async () => {});
  const cold = await first(bare, COLD, async () => {});
  await using pooled = await start(runtime, { pool: { min: POOL, parallel: 1 } });
  const warm = await first(pooled, WARM, () => poolIsFull(pooled));
  return [
    show(`${runtime}: session → first screenshot, cold`, cold),
    show(`${runtime}: session → first screenshot, from the pool`, warm, "", cold),
  ];
}

/** What one action costs, beside what a program does that is spawned for it in the same desktop. */
async function measureActions(runtime: string): Promise<Row[]> {
  await using server = await start(runtime, { setup: SETUP });
  const session = Reflect.get(Object((await create(server, "w"))["data"]), "session_id");
  await execute(server, "w", "screenshot");
  const click = (index: number) =>
    execute(server, "w", "click", { x: 100 + ((index * 7) % 500), y: 100 + ((index * 11) % 400) });
  await times(10, click);
  const clicks = await times(CALLS, click);
  const screenshots = await times(CALLS, () => execute(server, "w", "screenshot"));
  const afterClick = await times(CALLS, async (index) => {
    await click(index);
    await execute(server, "w", "screenshot");
  });
  const jpeg = await times(CALLS, () => execute(server, "w", "screenshot", { format: "jpeg" }));
  const has = async (program: string) => {
    const done = await execute(server, "w", "run_command", { command: `command -v ${program}` });
    const found = Reflect.get(Object(done), "exit_code") === 0;
    if (!found) console.log(`${runtime}: ${program} skipped, it is not installed`);
    return found;
  };
  const rows: Row[] = [];
  if (await has("xdotool")) {
    const spawned = await times(SPAWNS, (index) =>
      runCommand(server, "w", "xdotool", "mousemove", String(100 + index), "200", "click", "1"),
    );
    rows.push(show(`${runtime}: baseline: spawned xdotool, move and click`, spawned));
    rows.push(show(`${runtime}: vm:click`, clicks, "≤ 3", spawned));
  } else rows.push(show(`${runtime}: vm:click`, clicks, "≤ 3"));
  let slow: number[] | undefined;
  for (const [program, ...args] of [
    ["import", "-window", "root", "/tmp/shot.png"],
    ["scrot", "-o", "/tmp/shot.png"],
  ] as const) {
    if (!(await has(program))) continue;
    const spawned = await times(SPAWNS, () => runCommand(server, "w", program, ...args));
    rows.push(show(`${runtime}: baseline: spawned ${program}, not brought out`, spawned));
    slow = spawned;
  }
  rows.push(show(`${runtime}: vm:screenshot, PNG 1280x800`, screenshots, "≤ 30", slow));
  rows.push(show(`${runtime}: vm:screenshot, JPEG`, jpeg, "", slow));
  rows.push(show(`${runtime}: vm:click and vm:screenshot`, afterClick));
  if (runtime === "docker") rows.push(...(await measureDockerExec(String(session))));
  return rows;
}

/** The engine's own way to start a program in a container. */
async function measureDockerExec(session: string): Promise<Row[]> {
  const docker = (...args: string[]) => execFileSync("docker", args, { encoding: "utf8" }).trim();
  const container = docker("ps", "--quiet", "--filter", `label=toolyard.session=${session}`);
  const inside = (...command: string[]) => docker("exec", "-e", "DISPLAY=:1", container, ...command);
  const click = await times(SPAWNS, async () => inside("xdotool", "mousemove", "200", "200", "click", "1"));
  const shot = await times(SPAWNS, async () => inside("scrot", "-o", "/tmp/shot.png"));
  return [show("docker exec of xdotool, move and click", click), show("docker exec of scrot", shot)];
}

/** Eight at once: until all show something, and then all at work. */
async function measureCrowd(runtime: string): Promise<Row[]> {
  await using server = await start(runtime, { setup: SETUP.slice(0, 1) });
  await create(server, "first");
  await destroy(server, "first");
  const ids = Array.from({ length: HELD }, (_, index) => `c${index}`);
  const all = await time(() =>
    Promise.all(
      ids.map(async (id) => {
        await create(server, id);
        await execute(server, id, "screenshot");
      }),
    ),
  );
  const shots: number[] = [];
  const clicks: number[] = [];
  await Promise.all(
    ids.map(async (id) => {
      shots.push(...(await times(CALLS / 5, () => execute(server, id, "screenshot"))));
      clicks.push(...(await times(CALLS / 5, (index) => execute(server, id, "click", { x: 100 + index, y: 100 }))));
    }),
  );
  return [
    show(`${runtime}: ${HELD} sessions at once, until all have their first screenshot`, [all]),
    show(`${runtime}: vm:screenshot, ${HELD} desktops at work`, shots),
    show(`${runtime}: vm:click, ${HELD} desktops at work`, clicks),
  ];
}

/** Memory of what a desktop is, by its sandbox's own count, and what this process holds for it. */
async function measureMemory(runtime: string): Promise<Row> {
  const selector = openRuntimes(configSchema.parse({ runtimes: { order: [runtime] } }));
  const provider = new SandboxDesktopProvider({ selector, runtime });
  const open = () =>
    openDesktop(provider, { width: 1_280, height: 800, dpi: 96, sandbox: { limits: LIMITS } }, systemClock, signal);
  const warm = await open();
  warm.connection.close();
  await warm.running.stop();
  const before = process.memoryUsage().rss;
  const held = [];
  for (let index = 0; index < HELD; index += 1) held.push(await open());
  const after = process.memoryUsage().rss;
  const stats = await Promise.all(held.map(({ running }) => running.box?.stats?.(signal)));
  const used = stats.flatMap((each) => (each === undefined ? [] : [each.memoryBytes / MIB]));
  for (const { connection, running } of held) {
    connection.close();
    await running.stop();
  }
  await selector.close();
  return {
    runtime,
    desktops: HELD,
    "each, as its sandbox counts, MiB": percentile(used, 50).toFixed(1),
    "most, MiB": Math.max(...used).toFixed(1),
    "server, MiB each": ((after - before) / HELD / MIB).toFixed(1),
  };
}

const look = openRuntimes(configSchema.parse({ runtimes: { order: ["docker", "local"] } }));
const runtimes: string[] = [];
for (const runtime of ["docker", "local"]) {
  const lacking = await new SandboxDesktopProvider({ selector: look, runtime }).check(signal);
  if (lacking === undefined) runtimes.push(runtime);
  else console.log(`${runtime}: skipped, ${lacking}`);
}
await look.close();

const starts: Row[] = [];
for (const runtime of runtimes) starts.push(...(await measureStarts(runtime)));
if (starts.length > 0) printTable(`desktops: first usable one (${COLD} cold, ${WARM} from a pool of ${POOL})`, starts);
const actions: Row[] = [];
for (const runtime of runtimes) actions.push(...(await measureActions(runtime)));
if (actions.length > 0)
  printTable(`desktops: actions through POST /execute (${CALLS}; ${SPAWNS} of spawned programs)`, actions);
const crowd: Row[] = [];
for (const runtime of runtimes) crowd.push(...(await measureCrowd(runtime)));
if (crowd.length > 0) printTable(`desktops: ${HELD} at once`, crowd);
const memory: Row[] = [];
for (const runtime of runtimes) memory.push(await measureMemory(runtime));
if (memory.length > 0) printTable("desktops: memory of idle ones", memory);
