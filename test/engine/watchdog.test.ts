import { describe, expect, it } from "vitest";
import { ScriptedBackend, type Script } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";

/** Holds the event loop. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

const blocker = (script: Script) => new ScriptedBackend({ resource: "blocker", script });

describe("the watchdog", () => {
  it.each([
    ["in its first part", () => block(120)],
    [
      "after an await",
      async () => {
        await Promise.resolve();
        block(120);
      },
    ],
  ])("names the tool that held the loop %s, not one that waited meanwhile", async (_name, script) => {
    const waiting = new ScriptedBackend({ resource: "waiting" });
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.script = () => promise;
    await using server = await testServer({ backends: [blocker(script), waiting], limits: { loopLagMs: 40 } });
    const pending = server.execute("waiting:probe");
    await expect.poll(() => server.engine.executor.activeCount).toBe(1);
    await server.execute("blocker:probe");
    // A busy machine may hold the loop again at any time, of which the last is kept and each is logged.
    const named = () => server.logger.lines.map(({ facts }) => facts["tools"]);
    await expect.poll(named).toContainEqual(["blocker:probe"]);
    expect(server.engine.watchdog.lastBlock?.ms).toBeGreaterThanOrEqual(40);
    resolve();
    expect((await pending).status).toBe(200);
  });

  it("gives no advice on backends when none of them held it", async () => {
    await using server = await testServer({ backends: [], limits: { loopLagMs: 40 } });
    block(150);
    await expect.poll(() => server.engine.watchdog.lastBlock?.tools).toEqual([]);
    const told = server.logger.lines.filter((each) => each.message?.includes("event loop") === true);
    expect(told.length).toBeGreaterThan(0);
    for (const { message } of told) expect(message).not.toContain("thread");
  });
});
