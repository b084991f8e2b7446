// Benchmark: browsers through the server: the first page cold and from the pool, then each kind of call, beside puppeteer-core on a Chromium of the host's own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { connect, type Page } from "puppeteer-core";
import { type ServerProcess, startServerProcess } from "./server-process.ts";
import { printTable } from "./table.ts";
import { type Row, time, times, toRow } from "./timing.ts";

const PROGRAM = "/usr/lib/chromium/chromium";
const COLD = 6;
const WARM = 8;
const POOL = 2;
const CALLS = 60;
/** A page of some size: a form, a table and a few pages of text. */
const PAGE = `<!doctype html><title>Bench</title><h1>Bench</h1><form onsubmit="return false"><label>Name <input id="name"></label>
<button id="go" type="button" onclick="this.dataset.n = 1 + Number(this.dataset.n ?? 0)">Go</button></form>
<table>${"<tr><td>copper</td><td><a href='#x'>5.96e7</a></td></tr>".repeat(150)}</table>
${"<p>Copper conducts electricity better than any other metal but silver.</p>".repeat(60)}`;
const URL_OF_PAGE = `data:text/html,${encodeURIComponent(PAGE)}`;

/** A Chromium as a script would start it: no sandbox around it, no server before it. */
async function startRaw() {
  const folder = mkdtempSync(join(tmpdir(), "toolyard-bench-chromium-"));
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"];
  const program = spawn(PROGRAM, [...flags, `--user-data-dir=${folder}`, "about:blank"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let endpoint = "";
  for await (const line of createInterface({ input: program.stderr })) {
    endpoint = /listening on (ws:\S+)/.exec(line)?.[1] ?? "";
    if (endpoint !== "") break;
  }
  program.stderr.resume();
  const browser = await connect({ browserWSEndpoint: endpoint, defaultViewport: { width: 1_280, height: 800 } });
  const [page = await browser.newPage()] = await browser.pages();
  return {
    page,
    async [Symbol.asyncDispose]() {
      await browser.disconnect();
      const ended = once(program, "exit");
      program.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

async function startServer(runtime: string, config: object = {}): Promise<ServerProcess> {
  const browser = { backend: "browser", config: { runtime, network: "none", ...config } };
  return startServerProcess({
    resources: { browser },
    runtimes: { order: [runtime] },
    warmup: { enabled: "pool" in config, resources: ["browser"] },
  });
}

const about = (id: string) => ({ worker_id: id, resource_type: "browser" });

async function execute(server: ServerProcess, id: string, tool: string, params: object = {}): Promise<unknown> {
  const { data } = await server.post("/execute", { worker_id: id, action: `browser:${tool}`, params });
  return data;
}

async function poolIsFull(server: ServerProcess): Promise<void> {
  for (;;) {
    const ready = JSON.stringify(await server.get("/ready"));
    if (Number(/"pool":\{"ready":(\d+)/.exec(ready)?.[1]) >= POOL) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** From nothing to a page that is loaded. */
async function measureStarts(runtimes: readonly string[]): Promise<Row[]> {
  const raw = await times(COLD, async () => {
    await using chromium = await startRaw();
    await chromium.page.goto(URL_OF_PAGE);
  });
  const rows = [toRow("baseline: spawned Chromium, puppeteer-core → first page, and its end", raw)];
  const first = async (server: ServerProcess, count: number, ready: () => Promise<void>) => {
    const values: number[] = [];
    for (let index = 0; index < count; index += 1) {
      await ready();
      values.push(
        await time(async () => {
          await server.post("/api/v1/session/create", about(`w${index}`));
          await execute(server, `w${index}`, "navigate", { url: URL_OF_PAGE });
        }),
      );
      await server.post("/api/v1/session/destroy", about(`w${index}`));
    }
    return values;
  };
  for (const runtime of runtimes) {
    await using bare = await startServer(runtime);
    // The first container of an image is looked into; that is once, not each time.
    await first(bare, 1, async () => {});
    rows.push(
      toRow(`${runtime}: session → first page, cold`, await first(bare, COLD, async () => {}), { baseline: raw }),
    );
    await using pooled = await startServer(runtime, { pool: { min: POOL, parallel: 1 } });
    const warm = await first(pooled, WARM, () => poolIsFull(pooled));
    rows.push(toRow(`${runtime}: session → first page, from the pool`, warm, { baseline: raw }));
  }
  return rows;
}

interface Kind {
  readonly name: string;
  readonly tool: string;
  readonly params?: object;
  readonly raw: (page: Page) => Promise<unknown>;
}

const KINDS: readonly Kind[] = [
  { name: "navigate", tool: "navigate", params: { url: URL_OF_PAGE }, raw: (page) => page.goto(URL_OF_PAGE) },
  { name: "click", tool: "click", params: { selector: "#go" }, raw: (page) => page.click("#go") },
  { name: "evaluate", tool: "evaluate", params: { expression: "1 + 1" }, raw: (page) => page.evaluate("1 + 1") },
  { name: "text", tool: "text", raw: (page) => page.evaluate("document.documentElement.innerText") },
  { name: "snapshot", tool: "snapshot", raw: (page) => page.accessibility.snapshot({ interestingOnly: false }) },
  { name: "screenshot, PNG 1280x800", tool: "screenshot", raw: (page) => page.screenshot({ encoding: "base64" }) },
];

async function measureCalls(runtimes: readonly string[]): Promise<Row[]> {
  await using chromium = await startRaw();
  const servers = await Promise.all(runtimes.map(async (runtime) => ({ runtime, server: await startServer(runtime) })));
  try {
    for (const { server } of servers) {
      await server.post("/api/v1/session/create", about("w"));
      await execute(server, "w", "navigate", { url: URL_OF_PAGE });
    }
    await chromium.page.goto(URL_OF_PAGE);
    const rows: Row[] = [];
    for (const { name, tool, params, raw } of KINDS) {
      await times(5, () => raw(chromium.page));
      const baseline = await times(CALLS, () => raw(chromium.page));
      rows.push(toRow(`baseline: ${name}, puppeteer-core`, baseline));
      for (const { runtime, server } of servers) {
        await times(5, () => execute(server, "w", tool, params));
        const values = await times(CALLS, () => execute(server, "w", tool, params));
        rows.push(toRow(`${runtime}: browser:${tool}`, values, { baseline }));
      }
    }
    return rows;
  } finally {
    for (const { server } of servers) await server[Symbol.asyncDispose]();
  }
}

if (!existsSync(PROGRAM)) {
  console.log(`browser: skipped, ${PROGRAM} is not installed (apt-get install chromium)`);
} else {
  const runtimes: string[] = [];
  for (const runtime of ["docker", "local"]) {
    await using server = await startServer(runtime);
    const { backends } = await server.get("/ready");
    const { up, reason } = Reflect.get(Object(backends), "browser") ?? {};
    if (up === true) runtimes.push(runtime);
    else console.log(`${runtime}: skipped, ${reason}`);
  }
  printTable(`browsers: first page (${COLD} cold, ${WARM} from a pool of ${POOL})`, await measureStarts(runtimes));
  printTable(`browsers: calls through POST /execute (${CALLS} each)`, await measureCalls(runtimes));
}
