import { describe, expect, it } from "vitest";
import { Backend } from "../../src/core/backend.ts";
import type { LifecycleContext, SessionRequest, ToolContext } from "../../src/core/context.ts";
import type { ToolyardEvent } from "../../src/core/events.ts";
import { tool } from "../../src/core/tool.ts";
import { testEngine } from "../kit/test-engine.ts";

const desktop = { sandbox_id: "s", url: "/ws/vnc/s", display: ":1", resolution: "1280x800", port: null };

class Desktops extends Backend<object> {
  readonly resource = "desk";
  override async initialize(_: SessionRequest, { emit }: LifecycleContext): Promise<object> {
    emit?.("desktop_started", desktop);
    return {};
  }
  override async cleanup(_: unknown, { emit }: LifecycleContext): Promise<void> {
    emit?.("desktop_stopped", { sandbox_id: "s", reason: "session_ended" });
  }
  @tool({ description: "Restarts the desktop." })
  restart(_: object, { emit }: ToolContext<object>): null {
    const facts = { ...desktop };
    emit?.("desktop_started", facts);
    // What is told is what was so then.
    facts.resolution = "1x1";
    return null;
  }
  @tool({ description: "Takes control, by its own account." })
  lie(_: object, { emit }: ToolContext<object>): null {
    // As a plugin without types would.
    emit?.("control.taken" as never, { holder: "me" } as never);
    return null;
  }
}

async function desk() {
  const tested = testEngine([new Desktops({ config: {} })]);
  const told: ToolyardEvent[] = [];
  tested.engine.bus.subscribe((event) => told.push(event));
  const { record } = await tested.create("desk", { project: "p" });
  return { ...tested, told, record };
}

describe("what a backend tells", () => {
  it("are events of its session by hooks, and of the call by tools", async () => {
    const { told, record, router, call } = await desk();
    const answer = await call("desk:restart");
    await router.destroy(record, "destroyed");
    expect(told.map(({ type, session_id: id, call_id: by }) => [type, id === record.id, by !== undefined])).toEqual([
      // Its session's own beginning comes first, though it was told in the middle of it.
      ["session.created", true, false],
      ["desktop_started", true, false],
      ["call.started", true, true],
      ["desktop_started", true, true],
      ["call.completed", true, true],
      ["desktop_stopped", true, false],
      ["session.ended", true, false],
    ]);
    expect(told[3]).toMatchObject({ trace_id: answer.meta.trace_id, data: desktop });
  });

  it("are only those that backends may tell", async () => {
    const { told, call } = await desk();
    expect(await call("desk:lie")).toMatchObject({ ok: false, error: { error: "invalid_input" } });
    expect(told.map(({ type }) => type)).not.toContain("control.taken");
  });
});
