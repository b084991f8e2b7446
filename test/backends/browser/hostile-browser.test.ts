import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { BrowserThread } from "../../../src/backends/browser/thread/browser-thread.ts";
import { ToolyardError } from "../../../src/core/errors.ts";
import { browserLacking } from "../../kit/browser.ts";
import { recordingLogger } from "../../kit/recording-logger.ts";

if (browserLacking !== undefined) console.warn(`skipped: hostile browsers; ${browserLacking}`);

/** Changes what the browser says; `undefined` leaves it as it is. */
type Tamper = (message: Message, say: (message: object) => void) => object | undefined;
type Message = {
  readonly method?: string;
  readonly sessionId?: string;
  readonly params?: object;
  readonly result?: object;
};

let chromium: ChildProcess;
let debuggerUrl: string;
let folder: string;

const FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];

beforeAll(async () => {
  if (browserLacking !== undefined) return;
  folder = await mkdtemp(join(tmpdir(), "toolyard-hostile-"));
  const flags = [...FLAGS, "--remote-debugging-port=0", `--user-data-dir=${folder}`, "about:blank"];
  chromium = spawn("/usr/bin/chromium", flags, { stdio: ["ignore", "ignore", "pipe"] });
  for await (const line of createInterface({ input: chromium.stderr ?? process.stdin })) {
    const [, found] = /listening on (ws:\S+)/.exec(line) ?? [];
    if (found !== undefined) {
      debuggerUrl = found;
      break;
    }
  }
  chromium.stderr?.resume();
});

afterAll(async () => {
  if (chromium === undefined) return;
  chromium.kill("SIGKILL");
  if (chromium.exitCode === null && chromium.signalCode === null) await once(chromium, "exit");
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
});

/** A thread that works a real browser, whose words pass through hostile hands. */
async function openTampered(tamper: Tamper) {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  server.on("connection", async (victim) => {
    const browser = new WebSocket(debuggerUrl);
    const early: string[] = [];
    victim.on("message", (data) => (browser.readyState === 1 ? browser.send(String(data)) : early.push(String(data))));
    victim.on("close", () => browser.close());
    browser.on("close", () => victim.close());
    browser.on("open", () => early.forEach((message) => browser.send(message)));
    const say = (message: object) => victim.send(JSON.stringify(message));
    browser.on("message", (data) => {
      const message: Message = JSON.parse(String(data));
      say(tamper(message, say) ?? message);
    });
  });
  const logger = recordingLogger();
  const thread = new BrowserThread(logger);
  onTestFinished(() => {
    thread.close();
    server.close();
  });
  const files = { stat: async () => null, read: async () => new Uint8Array() };
  const options = { width: 800, height: 600, maxTabs: 4, timeoutMs: 30_000 };
  const { port } = server.address() as AddressInfo; // it listens
  const open = () =>
    thread.open(connect(port, "127.0.0.1"), { path: "/devtools", files, options }, AbortSignal.timeout(60_000));
  const run = (tool: string, params: object = {}, withinMs = 60_000) =>
    thread.run(tool, params, AbortSignal.timeout(withinMs));
  return { thread, logger, open, run };
}

/** What becomes of work with a hostile browser: a value, or a typed error; anything else is the server's own failure. */
async function settle(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "done";
  } catch (error) {
    if (ToolyardError.is(error)) return error.error;
    if (error instanceof Error && error.name === "TimeoutError") return "timeout";
    // The library's own words for an answer that makes no sense; the server masks them.
    return `untyped: ${error instanceof Error ? error.name : String(error)}`;
  }
}

const page = (text: string) => ({ url: `data:text/html,<title>${text}</title><button>${text}</button>` });

/** Puts another value in one place of a message. */
function swap(value: unknown, place: number, other: unknown): unknown {
  if (typeof value !== "object" || value === null) return other;
  const keys = Object.keys(value);
  const key = keys[place % Math.max(1, keys.length)];
  if (key === undefined) return value;
  const inner: unknown = Reflect.get(value, key);
  return { ...value, [key]: swap(inner, Math.floor(place / keys.length), other) };
}

describe.skipIf(browserLacking !== undefined)("a hostile browser", () => {
  it("D11: whose message makes a handler of the library reject by itself loses its own session, told why", async () => {
    const hostile = await openTampered((message) =>
      message.method === "Page.frameNavigated" ? { ...message, params: { frame: null, type: 7 } } : undefined,
    );
    await hostile.open();
    expect(await settle(hostile.run("navigate", { ...page("one"), wait_until: "load" }))).toBe("sandbox_dead");
    await hostile.thread.ended;
    const lost = expect.objectContaining({
      error: "sandbox_dead",
      message: expect.stringContaining("broke its protocol"),
    });
    await expect(hostile.run("tabs")).rejects.toEqual(lost);
    expect(hostile.logger.lines).toContainEqual(
      expect.objectContaining({ level: "warn", message: expect.stringContaining("thread") }),
    );
  });

  it("D11: that makes the library fail by itself ends its own session, and nothing else", async () => {
    const escaped: unknown[] = [];
    const note = (reason: unknown) => void escaped.push(reason);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));
    const mutation = fc.record({
      every: fc.integer({ min: 1, max: 12 }),
      place: fc.nat(4_000),
      other: fc.oneof(fc.constant(null), fc.jsonValue({ maxDepth: 1 })),
    });
    const property = fc.asyncProperty(fc.array(mutation, { minLength: 3, maxLength: 12 }), async (mutations) => {
      let count = 0;
      let armed = false;
      const tampered = await openTampered((message) => {
        count += 1;
        const chosen = mutations[count % mutations.length];
        if (!armed || chosen === undefined || count % chosen.every !== 0) return undefined;
        if (message.method !== undefined)
          return { ...message, params: swap(message.params, chosen.place, chosen.other) as object };
        return { ...message, result: swap(message.result, chosen.place, chosen.other) as object };
      });
      await tampered.open();
      armed = true;
      for (const [tool, params] of [
        ["navigate", page("one")],
        ["snapshot", {}],
        ["new_tab", page("two")],
        ["evaluate", { expression: "console.log({ a: 1 }); window.open('about:blank'); throw new Error('no')" }],
      ] as const) {
        // oxlint-disable-next-line no-await-in-loop -- one browser
        await settle(
          tampered.run(tool, { ...params, timeout_ms: 300, wait_until: "load", max_elements: 50, max_depth: 9 }, 1_000),
        );
      }
      tampered.thread.close();
      expect(await settle(tampered.run("tabs"))).toBe("sandbox_dead");
    });
    await fc.assert(property, { numRuns: 3, endOnFailure: true });
    expect(escaped).toEqual([]);
  });
});
