import { afterEach, describe, expect, it } from "vitest";
import type { CallOptions } from "../../src/core/caller.ts";
import { ToolyardError } from "../../src/core/errors.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { Operation } from "../../src/plugins/thread/messages.ts";
import { ThreadHost } from "../../src/plugins/thread/thread-host.ts";
import type { OperationContext } from "../../src/plugins/thread/worker-thread.ts";
import { Gate } from "../kit/gate.ts";
import { settle } from "../kit/manual-clock.ts";
import { recordingLogger } from "../kit/recording-logger.ts";

const logger = recordingLogger();
const open: ThreadHost[] = [];

function host(graceMs = 10_000): ThreadHost {
  const source = { kind: "module", url: new URL("unruly.ts", import.meta.url).href, exportName: "Unruly" } as const;
  const made = new ThreadHost({ start: { source, config: {}, apis: {}, resource: "unruly" }, logger, graceMs });
  open.push(made);
  return made;
}

function tool(name: string, params: unknown = {}): Operation {
  const call = { workerId: "w1", tenant: "t1", callId: "c1", traceId: "trace", timeLeftMs: 60_000 };
  return { kind: "tool", tool: name, params, session: undefined, call };
}

function initialize(config: Readonly<Record<string, unknown>>): Operation {
  return { kind: "initialize", request: { sessionId: "s1", workerId: "w1", tenant: "t1", config } };
}

const context = (signal = new AbortController().signal): OperationContext => ({ signal, logger });

/** A tool's context whose nested call ends when the test says so. */
function calling(): {
  context: OperationContext;
  called: Gate;
  answer: (data: unknown) => void;
  options: CallOptions[];
} {
  const called = new Gate();
  const options: CallOptions[] = [];
  let answer: (data: unknown) => void = () => undefined;
  const call = (_action: string, _params?: unknown, given: CallOptions = {}): Promise<ToolResult> => {
    options.push(given);
    called.arrive();
    return new Promise((resolve) => (answer = (data) => resolve({ ok: true, data, meta: {} } as never)));
  };
  const dropped = (): void => undefined;
  return {
    context: { ...context(), tool: { call, progress: dropped, output: dropped, setOutcome: dropped } },
    called,
    answer: (data) => answer(data),
    options,
  };
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.stop()));
});

describe("ThreadHost", () => {
  it("never answers a thread's call with what the thread before it had asked for", async () => {
    const threads = host();
    const [one, two] = [calling(), calling()];
    const lost = expect(threads.run(tool("use_context"), one.context)).rejects.toThrow(/ended by itself/);
    await one.called.arrived();
    await threads.run(tool("exit"), context()).catch(() => undefined);
    await lost;
    const asked = threads.run(tool("use_context"), two.context);
    await two.called.arrived();
    one.answer("the first one's secret");
    await settle();
    two.answer("the second one's own");
    expect(await asked).toMatchObject({ answer: { data: "the second one's own" } });
  });

  it("aborts a nested call with its thread, after an answer to the thread before it", async () => {
    const threads = host();
    const [one, two] = [calling(), calling()];
    const first = threads.run(tool("use_context"), one.context).catch(() => undefined);
    await one.called.arrived();
    await threads.stop();
    await first;
    const second = threads.run(tool("use_context"), two.context).catch(() => undefined);
    await two.called.arrived();
    one.answer("late");
    await settle();
    await threads.stop();
    await second;
    expect(two.options.map(({ signal }) => signal?.aborted)).toEqual([true]);
  });

  it.each([
    ["tool", (signals: Int32Array) => tool("hold", { signals })],
    ["initialize", (signals: Int32Array) => initialize({ signals })],
  ])("waits for code (%s) that began before its abort, though no word of that had come", async (_, operation) => {
    const threads = host();
    await threads.run({ kind: "warmup" }, context());
    const signals = new Int32Array(new SharedArrayBuffer(8));
    const abort = new AbortController();
    let ended = false;
    const running = threads.run(operation(signals), context(abort.signal)).finally(() => (ended = true));
    running.catch(() => undefined);
    // Holds the host's loop, as another tool may, until the plugin's code runs.
    Atomics.wait(signals, 0, 0);
    abort.abort(new ToolyardError("timeout", "too long"));
    await settle();
    expect(ended).toBe(false);
    Atomics.store(signals, 1, 1);
    Atomics.notify(signals, 1);
    await running;
  });

  it("hears a thread that answered in time while the host's own loop was held", async () => {
    const threads = host(0);
    await threads.run({ kind: "warmup" }, context());
    const signals = new Int32Array(new SharedArrayBuffer(8));
    // From here the loop comes to its timers before it reads messages.
    await new Promise((resolve) => setImmediate(resolve));
    const responds = threads.responds();
    const held = threads.run(tool("hold", { signals }), context()).catch(() => undefined);
    // The thread reads in order: once the tool runs, the sign of life is on its way.
    Atomics.wait(signals, 0, 0);
    const graceIsOver = performance.now() + 5;
    while (performance.now() < graceIsOver);
    expect(await responds).toBe(true);
    await threads.stop();
    await held;
  });
});
