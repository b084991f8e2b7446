import { describe, expect, it } from "vitest";
import type { ToolResult } from "../../src/core/result.ts";
import { EventBus } from "../../src/engine/bus.ts";
import { CallStreams } from "../../src/engine/call-streams.ts";
import { Idempotency } from "../../src/engine/idempotency.ts";
import { KeptStreams } from "../../src/engine/kept-streams.ts";
import { defaultLimits } from "../../src/engine/limits.ts";
import { SteadyTime } from "../../src/engine/steady-time.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { recordingLogger } from "../kit/recording-logger.ts";

const RESULT: ToolResult = {
  ok: true,
  data: null,
  meta: {
    tool: "probe:probe",
    execution_time_ms: 0,
    resource_type: null,
    session_id: null,
    trace_id: "t",
    outcome: "ok",
    queued_ms: 0,
  },
};

describe("the streams of calls that are over", () => {
  it("leave no timer behind, which would hold them, once they are forgotten for others", async () => {
    const clock = new ManualClock();
    const limits = { ...defaultLimits, endedStreamBytes: 3_000 };
    const { store, time } = { store: createMemoryStore().idempotency, time: new SteadyTime(clock) };
    const idempotency = new Idempotency({ store, instance: "i", clock, time, limits, logger: recordingLogger() });
    const streams = new CallStreams({ bus: new EventBus(), clock, limits, kept: new KeptStreams(idempotency) });
    const run = () =>
      streams.run(
        { caller: { tenant: "t", workerId: "w" }, action: "probe:probe", params: {} },
        async () => ({ value: RESULT, replayed: false }),
        () => "x".repeat(1_000),
      );
    for (let count = 0; count < 50; count += 1) await run().result;
    expect([streams.size, clock.pending]).toEqual([3, 3]);
    const { stream, result } = run();
    await result;
    streams.forget(stream);
    expect([streams.size, clock.pending]).toEqual([2, 2]);
    await clock.advance(limits.endedStreamMs);
    expect([streams.size, clock.pending]).toEqual([0, 0]);
  });
});
