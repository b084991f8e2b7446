import { describe, expect, it } from "vitest";
import { z } from "zod";
import { isConfiguredAs } from "../../src/engine/session-config.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { testEngine } from "../kit/test-engine.ts";

class Strict extends CounterBackend {
  override readonly sessionSchema = z.strictObject({ start: z.int().default(1), name: z.string().optional() });
}

describe("whether a session has the config that is asked for", () => {
  it.each([
    [{}, { start: 1 }, true],
    [{}, { start: 2 }, false],
    [{ start: 2 }, {}, true],
    [{ start: 2, name: "a" }, { name: "a", start: 2 }, true],
    [{ start: 2, name: "a" }, { start: 2 }, false],
    // One that its backend would refuse is not in force.
    [{ start: 2 }, { strat: 2 }, false],
  ])("made with %j, asked for %j: %j", async (config, asked, expected) => {
    const { create } = testEngine([new Strict()]);
    const { record } = await create("counter", { config });
    expect(isConfiguredAs(record, asked)).toBe(expected);
  });

  it("without a backend goes by what was asked for alone", async () => {
    const { create } = testEngine([]);
    const { record } = await create("anything", { config: { a: { b: 1, c: 2 } } });
    expect(isConfiguredAs(record, { a: { c: 2, b: 1 } })).toBe(true);
    expect(isConfiguredAs(record, { a: { c: 2 } })).toBe(false);
  });
});
