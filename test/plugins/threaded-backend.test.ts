import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import type { AnyBackend } from "../../src/core/backend.ts";
import type { Logger, ToolContext } from "../../src/core/context.ts";
import { ToolyardError } from "../../src/core/errors.ts";
import type { Session } from "../../src/core/session.ts";
import { loadBackends } from "../../src/plugins/load-backends.ts";
import { settle } from "../kit/manual-clock.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const lines: unknown[] = [];
const logger: Logger = {
  debug() {},
  info: (facts, message) => void lines.push({ facts, message }),
  warn: (facts, message) => void lines.push({ facts, message }),
  error: (facts, message) => void lines.push({ facts, message }),
  child: () => logger,
};
const open: AnyBackend[] = [];

const lifecycle = (signal = new AbortController().signal) => ({ resource: "unruly", logger, signal });

async function mount(backend = "./unruly.ts#Unruly"): Promise<AnyBackend> {
  const text = JSON.stringify({ resources: { unruly: { backend, thread: true } } });
  const config = parseConfig(text, { file: "t.json", environment: {} });
  const [mounted] = await loadBackends(config, { configDir: here, logger });
  if (mounted === undefined) throw new Error("nothing is mounted");
  open.push(mounted.backend);
  return mounted.backend;
}

async function initialize(backend: AnyBackend, id: string): Promise<Session<never>> {
  const facts = { workerId: "w1", tenant: "t1", config: { start: 10 } };
  await backend.warmup?.(lifecycle());
  const data = await backend.initialize?.({ ...facts, sessionId: id }, lifecycle());
  return { ...facts, id, name: id, resource: "unruly", data: data as never };
}

function call(
  backend: AnyBackend,
  tool: string,
  context: Partial<ToolContext<unknown>>,
  params: unknown = {},
): Promise<unknown> {
  const full = {
    workerId: "w1",
    tenant: "t1",
    callId: "c1",
    traceId: "trace",
    logger,
    signal: new AbortController().signal,
    progress() {},
    output() {},
    setOutcome() {},
    call: () => Promise.reject(new Error("no calls here")),
    ...context,
  };
  return Promise.resolve(
    backend
      .tools()
      .get(tool)
      ?.invoke(params, full as never),
  );
}

/** What `block_until_released` is called with: it holds its thread from `begun` until `release`. */
function holding() {
  const signals = new Int32Array(new SharedArrayBuffer(8));
  return {
    params: { signals },
    begun: async () => void (await Atomics.waitAsync(signals, 0, 0).value),
    release: () => {
      Atomics.store(signals, 1, 1);
      Atomics.notify(signals, 1);
    },
  };
}

const BUSY = { up: true, details: { thread: "busy" } };

function untilFree(backend: AnyBackend): Promise<void> {
  return expect.poll(() => backend.health?.(lifecycle())).toEqual({ up: true });
}

afterEach(async () => {
  lines.length = 0;
  await Promise.all(open.splice(0).map((backend) => backend.shutdown?.(lifecycle())));
});

describe("ThreadedBackend", () => {
  it("F01: says how a session is found again, and adopts it in the thread of another server", async () => {
    const dir = await mkdtemp(join(tmpdir(), "toolyard-thread-"));
    onTestFinished(() => rm(dir, { recursive: true }));
    const facts = { workerId: "w1", tenant: "t1", config: { file: join(dir, "notes") } };
    const session = { ...facts, id: "s1", name: "s1", resource: "unruly" };
    const before = await mount("../fixtures/durable.ts");
    const data = await before.initialize?.({ ...facts, sessionId: "s1" }, lifecycle());
    await call(before, "note", { session: { ...session, data } });
    const handle = await before.handle?.({ ...session, data });
    expect(handle).toEqual(facts.config);
    await before.shutdown?.(lifecycle());

    const after = await mount("../fixtures/durable.ts");
    const adopted = await after.adopt?.({ ...session, data: handle }, lifecycle());
    const again = await call(after, "note", { session: { ...session, data: adopted } });
    expect(again).toEqual({ lines: 2 });
    await rm(facts.config.file);
    expect(await after.adopt?.({ ...session, id: "s2", data: handle }, lifecycle())).toBe(null);
    const lost = call(after, "note", { session: { ...session, id: "s2", data: null } });
    await expect(lost).rejects.toMatchObject({ error: "session_lost" });
  });

  it("runs tools in another thread, with the session's data there", async () => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    await call(backend, "incr", { session });
    const result = await call(backend, "incr", { session });
    expect(result).toMatchObject({ value: 12, warm: 1, greeting: "hi" });
    expect(result).not.toMatchObject({ thread: 0 });
    expect(session.data).toBeUndefined();
  });

  it("keeps the main thread free while a tool blocks", async () => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    const held = holding();
    const blocked = call(backend, "block_until_released", { session }, held.params);
    await held.begun();
    // These would never fire if the tool held this thread, for which it waits.
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
    held.release();
    expect(await blocked).toEqual({ blocked: true });
    await untilFree(backend);
  });

  it("answers a health check while its thread is busy", async () => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    const held = holding();
    const blocked = call(backend, "block_until_released", { session }, held.params);
    await held.begun();
    expect(await backend.health?.(lifecycle())).toEqual(BUSY);
    held.release();
    await blocked;
    await untilFree(backend);
  });

  it("ends a blocked call when its signal aborts, and says that the thread's sessions are lost", async () => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    const other = await initialize(backend, "s2");
    const abort = new AbortController();
    const waiting = call(backend, "wait", { session: other, progress: () => undefined });
    const blocked = call(backend, "block_later", {
      session,
      signal: abort.signal,
      progress: () => abort.abort(new ToolyardError("timeout", "too long")),
    });
    await expect(blocked).rejects.toMatchObject({ error: "timeout" });
    await expect(waiting).rejects.toMatchObject({ error: "session_lost", outcome: "infra_error" });
    await expect(call(backend, "incr", { session: other })).rejects.toMatchObject({ error: "session_lost" });
    await backend.cleanup?.(other, lifecycle());
    const fresh = await initialize(backend, "s3");
    expect(await call(backend, "incr", { session: fresh })).toMatchObject({ value: 11, warm: 1 });
  });

  it("ends a tool that answers at first and blocks later", async () => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    const abort = new AbortController();
    const stubborn = call(
      backend,
      "block_after",
      {
        session,
        signal: abort.signal,
        progress: () => abort.abort(new ToolyardError("timeout", "too long")),
      },
      { seconds: 0.2 },
    );
    await expect(stubborn).rejects.toMatchObject({ error: "timeout" });
  });

  it("runs what waited behind a blocked call in the next thread", async () => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    const abort = new AbortController();
    const held = holding();
    const blocked = call(backend, "block_until_released", { session, signal: abort.signal }, held.params);
    await held.begun();
    const next = initialize(backend, "s2");
    abort.abort(new ToolyardError("timeout", "too long"));
    await expect(blocked).rejects.toMatchObject({ error: "timeout" });
    expect(await call(backend, "incr", { session: await next })).toMatchObject({ value: 11, warm: 1 });
  });

  it("shuts a blocked thread down without waiting for it", async () => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    const held = holding();
    const blocked = call(backend, "block_until_released", { session }, held.params);
    const ended = expect(blocked).rejects.toMatchObject({ error: "session_lost" });
    await held.begun();
    await backend.shutdown?.(lifecycle());
    await ended;
  });

  it("lets a call that is cancelled behind somebody else's blocking call not end that call", async () => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    const abort = new AbortController();
    const waits = Promise.withResolvers<void>();
    const waiting = call(backend, "wait", { session, signal: abort.signal, progress: () => waits.resolve() });
    const cancelled = expect(waiting).rejects.toMatchObject({ error: "cancelled" });
    await waits.promise;
    const held = holding();
    const blocked = call(backend, "block_until_released", { session }, held.params);
    await held.begun();
    abort.abort(new ToolyardError("cancelled", "enough"));
    // Each takes half of the second that a blocked thread is given.
    for (let check = 0; check < 3; check += 1) expect(await backend.health?.(lifecycle())).toEqual(BUSY);
    held.release();
    expect(await blocked).toEqual({ blocked: true });
    await cancelled;
  });

  it("never starts a call that was cancelled before its turn", async () => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    const abort = new AbortController();
    const held = holding();
    const blocked = call(backend, "block_until_released", { session }, held.params);
    await held.begun();
    const queued = call(backend, "incr", { session, signal: abort.signal });
    await settle();
    abort.abort(new ToolyardError("cancelled", "enough"));
    await expect(queued).rejects.toMatchObject({ error: "cancelled" });
    held.release();
    await blocked;
    expect(await call(backend, "incr", { session })).toMatchObject({ value: 11 });
  });

  it("forwards an abort to a tool that listens, and keeps the thread", async () => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    const abort = new AbortController();
    const waiting = call(backend, "wait", {
      session,
      signal: abort.signal,
      progress: () => abort.abort(new ToolyardError("cancelled", "enough", { details: { by: "test" } })),
    });
    await expect(waiting).rejects.toMatchObject({ error: "cancelled", details: { by: "test" } });
    expect(await call(backend, "incr", { session })).toMatchObject({ value: 11 });
  });

  it.each([
    ["exit", /ended by itself with code 3/],
    ["crash", /crashed/],
  ])("survives a plugin's %s with a typed error, and starts again", async (tool, message) => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    const ended = call(backend, tool, { session });
    await expect(ended).rejects.toMatchObject({ error: "session_lost", message: expect.stringMatching(message) });
    const fresh = await initialize(backend, "s2");
    expect(await call(backend, "incr", { session: fresh })).toMatchObject({ value: 11, warm: 1 });
  });

  it("says that a result cannot cross instead of crashing", async () => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    await expect(call(backend, "unsendable", { session })).rejects.toMatchObject({ error: "result_invalid" });
  });

  it("passes typed errors on whole and plain ones with their stack", async () => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    const refused = await call(backend, "refuse", { session }).catch((error: unknown) => error);
    expect(ToolyardError.is(refused)).toBe(true);
    expect(refused).toMatchObject({ error: "invalid_url", details: { url: "x:" }, suggestion: "Go elsewhere." });
    const failed = await call(backend, "fail", { session }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ name: "RangeError", message: "plain", stack: expect.stringContaining("unruly.ts") });
  });

  it("carries progress, outcome, log lines and calls of other tools", async () => {
    const backend = await mount();
    const session = await initialize(backend, "s1");
    const progress = vi.fn();
    const setOutcome = vi.fn();
    const answer = { ok: true, data: 42, meta: {} };
    const other = vi.fn(() => Promise.resolve(answer as never));
    const result = await call(backend, "use_context", { session, progress, setOutcome, call: other });
    expect(result).toEqual({ answer, workerId: "w1", tenant: "t1", callId: "c1", traceId: "trace" });
    expect(progress).toHaveBeenCalledWith({ percent: 50 });
    expect(setOutcome).toHaveBeenCalledWith("tool_error");
    expect(other).toHaveBeenCalledWith("other:tool", { a: 1 }, expect.objectContaining({ timeoutMs: 5 }));
    expect(lines).toContainEqual({
      message: "hello",
      facts: expect.objectContaining({ part: "one", error: expect.objectContaining({ message: "seen" }) }),
    });
  });
});
