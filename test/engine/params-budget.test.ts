import { describe, expect, it } from "vitest";
import { ParamsBudget } from "../../src/engine/params-budget.ts";

describe("the room for params", () => {
  it("is given back once, and refused by name when it is used up", () => {
    const budget = new ParamsBudget(1_000);
    const give = budget.hold({ text: "x".repeat(600) });
    expect(() => budget.hold({ text: "x".repeat(600) })).toThrow(
      expect.objectContaining({
        error: "overloaded",
        details: expect.objectContaining({ limit: "held_params_bytes" }),
      }),
    );
    give();
    give();
    expect(budget.held).toBe(0);
  });

  it("counts what small values take in memory, and not only text", () => {
    const budget = new ParamsBudget(1_000_000);
    budget.hold({ list: Array.from({ length: 1_000 }, () => ({})) });
    expect(budget.held).toBeGreaterThan(16_000);
  });

  it("takes one alone, however large", () => {
    const budget = new ParamsBudget(10);
    budget.hold({ text: "x".repeat(600) })();
    expect(budget.held).toBe(0);
  });
});
