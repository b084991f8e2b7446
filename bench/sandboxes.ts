// Benchmark: sandboxes: from creation to the first command, cold and from a warm pool, bursts, files, reset, memory, against `docker exec` and `docker run`.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { median, percentile, runLoad } from "./load.ts";
import { startSandboxServer } from "./sandbox-server.ts";
import { printTable } from "./table.ts";
import { type Row, time } from "./timing.ts";

const { configSchema } = await import("../dist/config/schema.js");
const { openRuntimes } = await import("../dist/plugins/open-runtimes.js");
type Selector = ReturnType<typeof openRuntimes>;
type Instance = Awaited<ReturnType<Awaited<ReturnType<Selector["select"]>>["create"]>>;

const COLD = 10;
const WARM = 20;
const POOL = 8;
const BURST = 100;
const FILES = 20;
const HELD = 20;
const FORKS = 10;
const MIB = 1_048_576;
const { signal } = new AbortController();

const show = (values: readonly number[]) => ({
  "p50 ms": percentile(values, 50).toFixed(1),
  "p95 ms": percentile(values, 95).toFixed(1),
});

/** Runs a program that needs nothing, by whatever way the sandbox has. */
async function firstCommand(instance: Instance): Promise<void> {
  if (instance.exec !== undefined) {
    const { exitCode } = await instance.exec({ command: ["true"], timeoutMs: 10_000 }, { signal });
    if (exitCode !== 0) throw new Error(`true exited with ${exitCode}`);
    return;
  }
  const kernel = await instance.openKernel("bash", signal);
  const { status } = await kernel.run({ code: "true", deadlineMs: 10_000 }, { signal });
  if (status !== "ok") throw new Error(`true ended as ${status}`);
}

async function firstPython(instance: Instance): Promise<void> {
  const kernel = await instance.openKernel("python", signal);
  const { stdout } = await kernel.run({ code: "print(1+1)", deadlineMs: 10_000 }, { signal });
  if (stdout.text !== "2\n") throw new Error(`print(1+1) printed ${stdout.text}`);
}

/** What the engine's own command line takes, with the same image and the same bounds. */
function dockerBaselines(image: string): Row[] {
  const hardened = ["--network", "none", "--read-only", "--cap-drop", "ALL", "--memory", "512m", "--pids-limit", "128"];
  const docker = (...args: readonly string[]) => execFileSync("docker", args, { encoding: "utf8" }).trim();
  const timed = (count: number, work: () => unknown): number[] =>
    Array.from({ length: count }, () => {
      const startedAt = performance.now();
      work();
      return performance.now() - startedAt;
    });
  const runs = timed(COLD, () => docker("run", "--rm", ...hardened, image, "true"));
  const python = timed(COLD, () => docker("run", "--rm", ...hardened, image, "python3", "-c", "print(1+1)"));
  const held = docker("run", "-d", "--rm", ...hardened, image, "sleep", "600");
  try {
    const execs = timed(COLD, () => docker("exec", held, "true"));
    const pythons = timed(COLD, () => docker("exec", held, "python3", "-c", "print(1+1)"));
    return [
      { work: "baseline: docker run true", ...show(runs), figure: "" },
      { work: "baseline: docker run python3 -c 'print(1+1)'", ...show(python), figure: "" },
      { work: "baseline: docker exec true", ...show(execs), figure: "" },
      { work: "baseline: docker exec python3 -c 'print(1+1)'", ...show(pythons), figure: "" },
    ];
  } finally {
    docker("rm", "-f", held);
  }
}

interface Pool {
  readonly min: number;
  readonly max: number;
  readonly kernels?: readonly string[];
}

function open(name: string, pool?: Pool): Selector {
  const runtimes = { order: [name], ...(pool !== undefined && { [name]: { pool } }) };
  return openRuntimes(configSchema.parse({ runtimes }));
}

async function filled(selector: Selector, name: string, min: number): Promise<void> {
  for (;;) {
    const { pool } = (await selector.status(signal))[name] ?? {};
    if (pool === undefined || (pool.ready >= min && pool.starting === 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Creation to first command without HTTP, cold and warm, and the claim by itself. */
async function measureStarts(name: string): Promise<Row[]> {
  const cold: number[] = [];
  const coldPython: number[] = [];
  const bare = open(name);
  const runtime = await bare.select({}, signal);
  for (const [values, command] of [
    [cold, firstCommand],
    [coldPython, firstPython],
  ] as const) {
    for (let index = 0; index < COLD; index += 1) {
      let instance: Instance | undefined;
      values.push(await time(async () => command((instance = await runtime.create({}, signal)))));
      await instance?.stop();
    }
  }
  await bare.close();

  const claims: number[] = [];
  const warm = { min: POOL, max: POOL };
  const command = await measureWarm(name, warm, firstCommand, claims);
  const python = await measureWarm(name, warm, firstPython, claims);
  const kernel = await measureWarm(name, { ...warm, kernels: ["python"] }, firstPython, claims);
  return [
    { work: `${name}: create → true, cold`, ...show(cold), figure: "" },
    { work: `${name}: create → print(1+1), cold`, ...show(coldPython), figure: "" },
    { work: `${name}: claim from a warm pool`, ...show(claims), figure: "< 10" },
    { work: `${name}: create → true, warm pool`, ...show(command), figure: "< 25 / 60" },
    { work: `${name}: create → print(1+1), warm pool`, ...show(python), figure: "" },
    { work: `${name}: create → print(1+1), warm pool with kernels`, ...show(kernel), figure: "< 25 / 60" },
  ];
}

/** Claims from a full pool, each to the end of its first command. */
async function measureWarm(
  name: string,
  pool: Pool,
  command: (instance: Instance) => Promise<void>,
  claims: number[],
): Promise<number[]> {
  const selector = open(name, pool);
  const runtime = await selector.select({}, signal);
  await runtime.warmup?.(signal);
  const values: number[] = [];
  for (let index = 0; index < WARM; index += 1) {
    // Not while the one before is still being replaced.
    await filled(selector, name, pool.min);
    const startedAt = performance.now();
    const instance = await runtime.create({}, signal);
    claims.push(performance.now() - startedAt);
    await command(instance);
    values.push(performance.now() - startedAt);
    await instance.stop();
  }
  await selector.close();
  return values;
}

/** Files, reset and memory of sandboxes that are there. */
async function measureHeld(name: string): Promise<Row[]> {
  const selector = open(name);
  const runtime = await selector.select({}, signal);
  const instance = await runtime.create({ limits: { diskMiB: 64 } }, signal);
  const rows: Row[] = [];
  const { files } = instance;
  if (files === undefined) console.log(`${name}: files skipped, it has none`);
  for (const [label, size] of files === undefined
    ? []
    : ([
        ["1 KB", 1_024],
        ["10 MB", 10 * MIB],
      ] as const)) {
    const content = Buffer.alloc(size, 7);
    const writes: number[] = [];
    const reads: number[] = [];
    for (let index = 0; index < FILES; index += 1) {
      writes.push(await time(async () => files?.write("/workspace/f", content, {}, signal)));
      reads.push(
        await time(async () => {
          let length = 0;
          while (length < size) {
            const part = await files?.read(
              "/workspace/f",
              { offset: length, length: Math.min(size - length, 4 * MIB) },
              signal,
            );
            if (part === undefined || part.length === 0) throw new Error("the file is short");
            length += part.length;
          }
        }),
      );
    }
    rows.push({ work: `${name}: write ${label}`, ...show(writes) }, { work: `${name}: read ${label}`, ...show(reads) });
  }
  if (instance.reset === undefined) console.log(`${name}: reset skipped, it cannot be reset`);
  else {
    const resets: number[] = [];
    for (let index = 0; index < FILES; index += 1) {
      await firstPython(instance);
      await files?.write("/workspace/left", Buffer.alloc(MIB), {}, signal);
      resets.push(await time(async () => instance.reset?.(signal)));
    }
    rows.push({ work: `${name}: reset of a sandbox with a kernel and 1 MB of files`, ...show(resets) });
  }
  await instance.stop();
  await selector.close();
  return rows;
}

/** Memory of what an idle session holds: processes of this one's children, or of the containers and their shims, and this process. */
async function measureMemory(name: string): Promise<Row> {
  const selector = open(name);
  const runtime = await selector.select({}, signal);
  globalThis.gc?.();
  const before = { own: process.memoryUsage().rss, all: sandboxPss(name, []) };
  const held: Instance[] = [];
  for (let index = 0; index < HELD; index += 1) held.push(await runtime.create({}, signal));
  const containers = held.flatMap(({ handle }) => containerOf(handle));
  const after = { own: process.memoryUsage().rss, all: sandboxPss(name, containers) };
  const cgroups = await Promise.all(held.map(async (instance) => instance.stats?.(signal)));
  const counted = cgroups.flatMap((stats) => (stats === undefined ? [] : [stats.memoryBytes / MIB]));
  await Promise.all(held.map((instance) => instance.stop()));
  await selector.close();
  return {
    runtime: name,
    sessions: HELD,
    "processes, MiB each (PSS)": ((after.all - before.all) / HELD / MIB).toFixed(1),
    "as the sandbox counts, MiB": counted.length === 0 ? "" : median(counted).toFixed(1),
    "server, MiB each": ((after.own - before.own) / HELD / MIB).toFixed(2),
  };
}

function containerOf(handle: unknown): string[] {
  const container: unknown =
    typeof handle === "object" && handle !== null ? Reflect.get(handle, "container") : undefined;
  return typeof container === "string" ? [container] : [];
}

/** Proportional memory of all descendants of this process, or of the processes of containers and their shims. */
function sandboxPss(name: string, containers: readonly string[]): number {
  const pids = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  const parents = new Map<string, string>();
  const chosen = new Set<string>(name === "docker" ? [] : [String(process.pid)]);
  for (const pid of pids) {
    try {
      parents.set(pid, readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[1] ?? "");
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (command.includes("containerd-shim") && containers.some((id) => command.includes(id))) chosen.add(pid);
    } catch {
      // It has ended.
    }
  }
  const isBelow = (pid: string): boolean => {
    for (let at: string | undefined = pid; at !== undefined && at !== "0"; at = parents.get(at)) {
      if (chosen.has(at)) return true;
    }
    return false;
  };
  let total = 0;
  for (const pid of pids) {
    if (pid === String(process.pid) || !isBelow(pid)) continue;
    try {
      total += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) * 1_024;
    } catch {
      // It has ended, or has no memory of its own.
    }
  }
  return total;
}

/** The same as users meet it, through the server. */
async function measureHttp(name: string): Promise<Row[]> {
  const rows: Row[] = [];
  await using server = await startSandboxServer(name, { min: BURST });
  await server.filled();
  let worker = 0;
  const create = (id: string) => server.post("/api/v1/session/create", { worker_id: id, resource_type: "code" });
  const run = (id: string, language: string, code: string) =>
    server.post("/execute", { worker_id: id, action: "code:run", params: { language, code } });
  const destroy = (id: string) => server.post("/api/v1/session/destroy", { worker_id: id, resource_type: "code" });

  for (const [language, code] of [
    ["bash", "true"],
    ["python", "print(1+1)"],
  ] as const) {
    const values: number[] = [];
    for (let index = 0; index < WARM; index += 1) {
      const id = `w${(worker += 1)}`;
      values.push(
        await time(async () => {
          await create(id);
          await run(id, language, code);
        }),
      );
      await destroy(id);
      await server.filled();
    }
    rows.push({
      work: `${name}: session → ${code} (${language}) over HTTP, warm pool`,
      ...show(values),
      figure: language === "bash" ? "< 25 / 60" : "",
    });
  }

  const bursts: number[] = [];
  const missed = await server.misses();
  for (let round = 0; round < 2; round += 1) {
    const ids = Array.from({ length: BURST }, () => `b${(worker += 1)}`);
    bursts.push(await time(() => Promise.all(ids.map(create))));
    await Promise.all(ids.map(destroy));
    await server.filled();
  }
  const misses = (await server.misses()) - missed;
  rows.push({
    work: `${name}: burst of ${BURST} sessions over HTTP (${misses} missed the pool)`,
    ...show(bursts),
    figure: "< 1000",
  });

  await create("warm");
  const body = JSON.stringify({
    worker_id: "warm",
    action: "code:run",
    params: { language: "python", code: "print(1+1)" },
  });
  const load = () => runLoad({ url: `${server.url}/execute`, body: () => body, requests: 300, concurrency: 1 });
  await load();
  const rounds = [await load(), await load(), await load()];
  const failures = rounds.reduce((sum, round) => sum + round.failures, 0);
  if (failures > 0) throw new Error(`${name}: ${failures} of print(1+1) failed`);
  rows.push({
    work: `${name}: print(1+1) over HTTP, p50 and p99`,
    "p50 ms": median(rounds.map(({ p50Ms }) => p50Ms)).toFixed(2),
    "p95 ms": `p99 ${median(rounds.map(({ p99Ms }) => p99Ms)).toFixed(2)}`,
    figure: "< 3",
  });

  const forks: number[] = [];
  for (let index = 0; index < FORKS; index += 1) {
    const id = `f${(worker += 1)}`;
    forks.push(
      await time(() =>
        server.post("/execute", { worker_id: "warm", action: "sandbox:fork", params: { worker_id: id } }),
      ),
    );
    await destroy(id);
    await server.filled();
  }
  rows.push({ work: `${name}: fork of a session with a Python kernel over HTTP`, ...show(forks), figure: "" });
  return rows;
}

const look = openRuntimes(configSchema.parse({ runtimes: { order: ["docker", "local"] } }));
const status = await look.status(signal);
await look.close();
const names = ["docker", "local"].filter((name) => {
  if (status[name]?.available === true) return true;
  console.log(`${name}: skipped, ${status[name]?.reason ?? "there is no such runtime"}`);
  return false;
});

const image = process.env["TOOLYARD_BENCH_IMAGE"] ?? "toolyard/code-slim";
const starts: Row[] = names.includes("docker") ? dockerBaselines(image) : [];
for (const name of names) starts.push(...(await measureStarts(name)));
printTable(`sandboxes: from creation to the first command (${COLD} cold, ${WARM} from a pool of ${POOL})`, starts);
const held: Row[] = [];
for (const name of names) held.push(...(await measureHeld(name)));
if (held.length > 0) printTable(`sandboxes: files and reset (${FILES} times)`, held);
const memory: Row[] = [];
for (const name of names) memory.push(await measureMemory(name));
if (memory.length > 0) printTable("sandboxes: memory of idle ones", memory);
const http: Row[] = [];
for (const name of names) http.push(...(await measureHttp(name)));
if (http.length > 0) printTable(`sandboxes through the server, a pool of ${BURST}`, http);
