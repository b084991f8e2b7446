import { describe, expect, it, onTestFinished } from "vitest";
import { DesktopAgent } from "../../../../src/backends/vm/desktop-agent/desktop-agent.ts";
import { ManualClock } from "../../../kit/manual-clock.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

const { signal } = new AbortController();
const options = { timeoutMs: 1_000, signal };

function openAgent() {
  const clock = new ManualClock();
  const lives: ScriptedAgent[] = [];
  const deaths: string[] = [];
  const agent = new DesktopAgent({
    clock,
    spawn: async () => {
      const life = new ScriptedAgent();
      lives.push(life);
      return life;
    },
    onDeath: (reason) => deaths.push(reason),
  });
  onTestFinished(() => agent.close());
  const life = async (index: number): Promise<ScriptedAgent> => {
    await expect.poll(() => lives.length).toBeGreaterThan(index);
    const found = lives[index];
    if (found === undefined) throw new Error("it has no such life");
    return found;
  };
  return { agent, clock, life, deaths, lives };
}

describe("a desktop's agent", () => {
  it("is given its modules as its first line, and asked when it says that it is ready", async () => {
    const { agent, life } = openAgent();
    const asked = agent.ask("window_info", { id: 7 }, options);
    const first = await life(0);
    expect(Object.keys((await first.said(0))["modules"] as object)).toContain("desktop_agent");
    first.say({ ready: true });
    expect(await first.said(1)).toEqual({
      id: 1,
      lane: "display",
      op: "window_info",
      args: { id: 7 },
      deadline_ms: 1_000,
    });
    const box = { x: 1, y: 2, width: 3, height: 4 };
    const window = { id: 7, title: "t", class: [], pid: null, box, active: true, states: [] };
    first.say({ id: 1, result: window });
    expect(await asked).toEqual(window);
  });

  it("tells failures by their kind", async () => {
    const { agent, life } = openAgent();
    const first = await life(0);
    first.say({ ready: true });
    for (const [index, [kind, error]] of [
      ["stale", "stale_ref"],
      ["failed", "business_failure"],
      ["unavailable", "dependency_failed"],
      ["timeout", "timeout"],
      ["invalid", "invalid_input"],
    ].entries()) {
      const asked = agent.ask("focus", { ref: "e1" }, options);
      await first.said(index + 1);
      first.say({ id: index + 1, error: { kind, message: "no" } });
      await expect(asked).rejects.toMatchObject({ error, message: "no" });
    }
  });

  it.each([
    ["no JSON", "nonsense\n"],
    ["an answer to nothing that was asked", '{"id":99,"result":{}}\n'],
    ["a message of no known form", '{"id":1,"result":{},"more":1}\n'],
    ["an answer that has not the form of one", '{"id":1,"result":{"windows":[{"id":-1}]}}\n'],
    ["a line without end", "x".repeat(18 << 20)],
  ])("ends and begins anew for %s", async (_what, bytes) => {
    const { agent, life, clock, deaths } = openAgent();
    const first = await life(0);
    first.say({ ready: true });
    const asked = agent.ask("list_windows", {}, options);
    await first.said(1);
    first.putRaw(bytes);
    await expect(asked).rejects.toMatchObject({ error: "dependency_failed" });
    expect(first.killed).toBe(true);
    expect(deaths).toHaveLength(1);
    clock.advance(200);
    (await life(1)).say({ ready: true });
    const again = agent.ask("list_windows", {}, options);
    const request = await (await life(1)).said(1);
    (await life(1)).say({ id: request["id"], result: { windows: [] } });
    expect(await again).toEqual({ windows: [] });
  });

  it("gives what was asked of it back when it dies, and no reference twice over its lives", async () => {
    const { agent, life, clock } = openAgent();
    const first = await life(0);
    first.say({ ready: true });
    const found = agent.ask("find", {}, options);
    await first.said(1);
    const node = {
      ...{ ref: "e41", role: "r", name: "", description: "", text: null, value: null, states: [], box: null },
      ...{ actions: [], parent: null, depth: 0 },
    };
    first.say({ id: 1, result: { nodes: [node], truncated: null, unresponsive: 0 } });
    await found;
    const lost = agent.ask("focus", { ref: "e41" }, options);
    await first.said(2);
    first.end();
    await expect(lost).rejects.toMatchObject({ error: "dependency_failed", retryable: true });
    clock.advance(200);
    expect(await (await life(1)).said(0)).toMatchObject({ first_ref: 42 });
  });

  it("is killed when it does not keep its deadline, and told when nobody waits any more", async () => {
    const { agent, life, clock } = openAgent();
    const first = await life(0);
    first.say({ ready: true });
    const over = new AbortController();
    const cancelled = agent.ask("tree", {}, { timeoutMs: 1_000, signal: over.signal });
    await first.said(1);
    over.abort(new Error("enough"));
    await expect(cancelled).rejects.toThrow("enough");
    expect(await first.said(2)).toEqual({ cancel: 1 });
    // Its answer comes too late, and is no offence.
    first.say({ id: 1, result: {} });
    const hung = agent.ask("list_windows", {}, options);
    await first.said(3);
    clock.advance(5_000);
    await expect(hung).rejects.toMatchObject({ error: "timeout" });
    await expect.poll(() => first.killed).toBe(true);
  });

  it("says how much it has read, and ends one that wrote more than that", async () => {
    const { agent, life } = openAgent();
    const first = await life(0);
    first.say({ ready: true });
    const asked = agent.ask("clipboard_get", {}, options);
    await first.said(1);
    const text = "x".repeat(300_000);
    first.say({ id: 1, result: { kind: "text", text } });
    expect(await asked).toEqual({ kind: "text", text });
    const told = await first.said(2);
    expect(told["read"]).toBeGreaterThan(128_000);
    first.skip(1);
    first.say({});
    await expect.poll(() => first.killed).toBe(true);
  });
});
