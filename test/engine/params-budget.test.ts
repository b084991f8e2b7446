import { describe, expect, it } from "vitest";
import { HeldBytes } from "../../src/engine/held-bytes.ts";
import { ParamsBudget } from "../../src/engine/params-budget.ts";

const CALLER = { tenant: "t", workerId: "w" };
const budgetOf = (maximum: number) =>
  new ParamsBudget(maximum, new HeldBytes({ heldBytesPerWorker: 1e9, heldBytesPerTenant: 1e9 }));

describe("the room for params", () => {
  it("is given back once, and refused by name when it is used up", () => {
    const budget = budgetOf(1_000);
    const give = budget.hold(CALLER, { text: "x".repeat(600) });
    expect(() => budget.hold(CALLER, { text: "x".repeat(600) })).toThrow(
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
    const budget = budgetOf(1_000_000);
    budget.hold(CALLER, { list: Array.from({ length: 1_000 }, () => ({})) });
    expect(budget.held).toBeGreaterThan(16_000);
  });

  it("takes one alone, however large", () => {
    const budget = budgetOf(10);
    budget.hold(CALLER, { text: "x".repeat(600) })();
    expect(budget.held).toBe(0);
  });
});
