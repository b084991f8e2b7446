import { describe, expect, it } from "vitest";
import { type SseSource, toSseReply } from "../../src/server/sse.ts";
import { ManualClock, settle } from "../kit/manual-clock.ts";

describe("a stream of events", () => {
  it("G04: takes a piece of its source only when its client takes one, however much there is", async () => {
    let asked = 0;
    let closed = 0;
    const source: SseSource = {
      // One that is asked for everything has an end, so that this fails in place of hanging.
      next: async () => (asked < 1_000 ? `data: ${(asked += 1)}\n\n` : undefined),
      heartbeat: () => ": heartbeat\n\n",
      close: () => void (closed += 1),
    };
    const { stream } = toSseReply(source, new ManualClock(), 15_000);
    const reader = stream?.getReader();
    const read = async () => new TextDecoder().decode((await reader?.read())?.value);
    await settle();
    expect(asked).toBe(0);
    expect(await read()).toBe("retry: 1000\n\n");
    for (let piece = 1; piece <= 5; piece += 1) {
      await settle();
      expect(asked).toBe(piece - 1);
      expect(await read()).toBe(`data: ${piece}\n\n`);
    }
    await reader?.cancel();
    expect([asked, closed]).toEqual([5, 1]);
  });
});
