import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toSessionId, toSessionName } from "../../src/engine/session-name.ts";

describe("a session's name", () => {
  it.each([
    ["w1", 1, undefined, "vm_w1_001"],
    ["a b/c", 12, undefined, "vm_a-b-c_012"],
    ["---", 1_000, undefined, "vm_worker_1000"],
    ["x".repeat(40), 1, undefined, `vm_${"x".repeat(32)}_001`],
    ["w1", 1, "_-my run-_", "vm_w1_001_my-run"],
    ["w1", 1, "***", "vm_w1_001"],
  ] as const)("of worker %s, number %d, called %s", (worker, count, custom, name) => {
    expect(toSessionName("vm", worker, count, custom)).toBe(name);
  });

  it("holds only characters that are safe in paths and labels", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (worker, custom) => {
        expect(toSessionName("vm", worker, 1, custom)).toMatch(/^vm_[A-Za-z0-9_-]{1,32}_001(_[A-Za-z0-9_-]{1,32})?$/);
      }),
    );
  });
});

describe("a session's id", () => {
  it("is its name and 128 random bits, never twice the same", () => {
    const ids = new Set(Array.from({ length: 2_000 }, () => toSessionId("vm_w1_001")));
    expect(ids.size).toBe(2_000);
    for (const id of ids) expect(id).toMatch(/^vm_w1_001_[0-9a-f]{32}$/);
  });
});
