import { describe, expect, it } from "vitest";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testEngine } from "../kit/test-engine.ts";

describe("a call that is over", () => {
  it("tells nothing more, whatever its tool still reports", async () => {
    let late: () => void = () => undefined;
    const probe = new ScriptedBackend({
      sessions: true,
      script: (_, context) => {
        const report = () => {
          context.progress({ percent: 50 });
          context.output("stdout", "text");
        };
        report();
        late = report;
        return {};
      },
    });
    const { engine, call } = testEngine([probe]);
    const types: string[] = [];
    const observed: unknown[] = [];
    engine.bus.subscribe(({ type, call_id: id }) => id !== undefined && types.push(type));
    await call("probe:probe", {}, { observer: { onProgress: (data) => observed.push(data) } });
    late();
    expect(types).toEqual(["call.started", "call.progress", "call.output", "call.completed"]);
    expect(observed).toEqual([{ percent: 50 }]);
  });

  it("tells nothing after it was answered for, though its tool still winds up", async () => {
    const probe = new ScriptedBackend();
    let late: () => void = () => undefined;
    probe.script = (_, context) => {
      late = () => context.progress({ percent: 50 });
      return new Promise(() => undefined);
    };
    const { engine, clock, call } = testEngine([probe], { abortGraceMs: 5_000 });
    const types: string[] = [];
    engine.bus.subscribe(({ type }) => types.push(type));
    const running = call("probe:probe", {}, { timeoutMs: 1_000 });
    await clock.advance(1_100);
    late(); // a last word counts
    await clock.advance(200);
    expect(await running).toMatchObject({ error: { error: "timeout" } });
    late();
    expect(types).toEqual(["call.started", "call.progress", "call.failed"]);
  });
});
