import { once } from "node:events";
import { describe, expect, it } from "vitest";
import CodeBackend from "../../src/backends/code/backend.ts";
import { Backend } from "../../src/core/backend.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { ToolyardError } from "../../src/core/errors.ts";
import type { SandboxRuntime } from "../../src/core/runtime.ts";
import { tool } from "../../src/core/tool.ts";
import { FakeRuntime } from "../../src/runtimes/fake/runtime.ts";
import { LocalRuntime } from "../../src/runtimes/local/runtime.ts";
import { createRuntimeSelector } from "../../src/runtimes/selector.ts";
import { isRunning, listChildren } from "../kit/child-processes.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";

const ITEMS = 1_000;
/** Ten items that fail by themselves, and the one that takes the sandbox along. */
const FAILING = new Set([3, 99, 100, 101, 250, 444, 555, 701, 850, 999]);
const KILLER = 500;
const CONCURRENCY = 8;

/** How many run at once, and how many did at most. */
class Crowd {
  most = 0;
  #now = 0;

  async with<T>(work: () => T | Promise<T>): Promise<T> {
    this.#now += 1;
    this.most = Math.max(this.most, this.#now);
    await new Promise((resolve) => setImmediate(resolve));
    try {
      return await work();
    } finally {
      this.#now -= 1;
    }
  }
}

/** A tool for code in a sandbox to call, which ends the sandbox that waits for its answer. */
class Axe extends Backend {
  readonly resource = "axe";
  readonly #fall: () => void;

  constructor(fall: () => void) {
    super({ config: {} });
    this.#fall = fall;
  }

  @tool({ description: "Fall.", allowedCallers: ["code"] })
  async fall(_: object, { signal }: ToolContext): Promise<object> {
    this.#fall();
    // So that the code has no answer to go on with before it is dead; its end is this call's end.
    await once(signal, "abort");
    return {};
  }
}

/** A code backend on one runtime, to be closed with it. */
function codeOn(runtime: SandboxRuntime) {
  const selector = createRuntimeSelector({ order: [runtime.name], runtimes: [runtime] });
  return {
    backend: new CodeBackend({ config: {}, runtimes: selector }),
    [Symbol.asyncDispose]: () => selector.close(),
  };
}

interface Item {
  readonly code: number;
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly meta: Readonly<Record<string, unknown>>;
}

const local = new LocalRuntime();
const { languages } = await local.check(new AbortController().signal);
const python = languages.python;

describe("E10: a thousand items, of which ten fail and one kills the sandbox", () => {
  it("E10: each item has its own result in its place, and no more run at once than may", async () => {
    const crowd = new Crowd();
    const runtime = new FakeRuntime({
      script: async ({ code }) => {
        await crowd.with(() => (code === "die" ? runtime.instances[0]?.die("something killed it") : undefined));
        // What is dead says nothing any more.
        return code === "die" ? new Promise(() => undefined) : { value: Number(code) };
      },
    });
    await using code = codeOn(runtime);
    const probe = new ScriptedBackend({
      script: ({ index }) =>
        crowd.with(() => {
          if (FAILING.has(Number(index))) throw new ToolyardError("execution_error", `no ${String(index)}`);
          return { index };
        }),
    });
    await using server = await testServer({ backends: [code.backend, probe] });
    const created = await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "code" });
    const sessionId: string = created.body.data.session_id;
    const isCode = (index: number) => index % 10 === 0 && !FAILING.has(index);
    const actions = Array.from({ length: ITEMS }, (_, index) =>
      isCode(index)
        ? { action: "code:run", params: { language: "python", code: index === KILLER ? "die" : String(index) } }
        : { action: "probe:probe", params: { index } },
    );
    const body = { worker_id: "w1", actions, parallel: true, stop_on_error: false, max_concurrency: CONCURRENCY };
    const answer = await server.post("/execute/batch", body);
    expect(answer.status).toBe(207);
    expect(answer.body.data).toMatchObject({ total: ITEMS, executed: ITEMS });
    const results: readonly Item[] = answer.body.data.results;
    const dead = results.flatMap(({ meta }, index) => (meta["error"] === "sandbox_dead" ? [index] : []));
    expect(dead).toContain(KILLER);
    // Items that waited for the same sandbox die with it; there are never more of them than run at once.
    expect(dead.length).toBeLessThanOrEqual(CONCURRENCY);
    expect(dead.every(isCode)).toBe(true);
    for (const [index, { code: status, data, meta }] of results.entries()) {
      if (FAILING.has(index))
        expect([index, meta["error"], meta["outcome"]]).toEqual([index, "execution_error", "tool_error"]);
      else if (dead.includes(index)) expect(meta["outcome"]).toBe("infra_error");
      else if (isCode(index)) {
        expect([index, status, data?.["result"]]).toEqual([index, 0, index]);
        // After its death the sandbox is not replaced in silence.
        if (meta["session_id"] !== sessionId) expect(meta).toMatchObject({ lost_session: sessionId });
      } else expect([index, status, data]).toEqual([index, 0, { index }]);
    }
    expect(answer.body.data.success_count).toBe(ITEMS - FAILING.size - dead.length);
    expect(crowd.most).toBe(CONCURRENCY);
    expect(server.engine.executor.activeCount).toBe(0);
    await expect.poll(() => server.engine.router.endingCount).toBe(0);
    expect(server.engine.router.sessionCount).toBe(0);
  });

  if (python?.available !== true) {
    it.skip(`E10: is not run in a real sandbox here: ${python?.reason}; remedy: ${python?.remedy}`, () => undefined);
  }
  it.runIf(python?.available)(
    "E10: in a real sandbox whose supervisor is killed, what ran before is answered, what comes after is session_lost",
    async () => {
      await using code = codeOn(local);
      const before = new Set(listChildren());
      const axe = new Axe(() => {
        for (const pid of listChildren().filter((child) => !before.has(child))) process.kill(pid, "SIGKILL");
      });
      await using server = await testServer({ backends: [code.backend, axe] });
      const created = await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "code" });
      const session_id: string = created.body.data.session_id;
      const toCode = (index: number) => {
        if (index === KILLER) return 'await tools.call("axe:fall")';
        return FAILING.has(index) ? `raise ValueError(${index})` : `${index} * 2`;
      };
      const actions = Array.from({ length: ITEMS }, (_, index) => ({
        action: "code:run",
        params: { language: "python", code: toCode(index) },
        session_id,
      }));
      const answer = await server.post("/execute/batch", { worker_id: "w1", actions, stop_on_error: false });
      const results: readonly Item[] = answer.body.data.results;
      expect(results).toHaveLength(ITEMS);
      for (const [index, { data, meta }] of results.entries()) {
        const seen = [index, meta["error"] ?? null, meta["outcome"]];
        if (index > KILLER) expect(seen).toEqual([index, "session_lost", "infra_error"]);
        else if (index === KILLER) expect(seen).toEqual([index, "sandbox_dead", "infra_error"]);
        else if (FAILING.has(index)) {
          expect(seen).toEqual([index, null, "tool_error"]);
          expect(data?.["error"]).toMatchObject({ name: "ValueError", message: String(index) });
        } else expect([...seen, data?.["result"]]).toEqual([index, null, "ok", index * 2]);
      }
      await expect.poll(() => listChildren().filter((child) => !before.has(child) && isRunning(child))).toEqual([]);
    },
  );
});
