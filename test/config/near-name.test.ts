import { describe, expect, it } from "vitest";
import { nearName } from "../../src/config/near-name.ts";

describe("nearName", () => {
  it.each([
    ["prot", "port"],
    ["hosts", "host"],
    ["logLevel", "log_level"],
    ["sevrer", "server"],
  ])("finds what %j meant", (typed, meant) => {
    expect(nearName(typed, ["server", "port", "host", "log_level"])).toBe(meant);
  });

  it("stays silent when nothing is near", () => {
    expect(nearName("elephant", ["server", "port"])).toBeUndefined();
  });
});
