import { describe, expect, it } from "vitest";
import { coveredBy, NetworkHost } from "../../src/core/network-hosts.ts";
import { CodeConfig, createSessionSchema } from "../../src/backends/code/config.ts";

describe("the hosts that a session may ask for", () => {
  it.each([
    ["example.org", ["example.org"], true],
    ["EXAMPLE.org", ["example.org"], true],
    ["a.example.org", ["*.example.org"], true],
    ["*.b.example.org", ["*.example.org"], true],
    ["example.org", ["*.example.org"], false],
    ["*.example.org", ["a.example.org"], false],
    ["evilexample.org", ["*.example.org"], false],
    ["example.org", ["example.org:443"], false],
    ["example.org:443", ["example.org"], true],
    ["example.org:80", ["example.org:443"], false],
    ["anything.at", ["*"], true],
    ["example.org", [], false],
  ] as const)("%s under %j: %s", (host, allowed, covered) => {
    expect(coveredBy(host, allowed)).toBe(covered);
  });

  it("are names, not addresses of something else", () => {
    for (const bad of ["", "*", "http://a.b", "a b", "a/b", "a@b", "a:b", "*.*.org", "a..b", "-a.org", "a.org:"])
      expect(NetworkHost.safeParse(bad).success, bad).toBe(false);
  });

  it("B08 are none by default, and an empty list is none", () => {
    const schema = createSessionSchema(CodeConfig.parse({}));
    expect(schema.safeParse({ network: { allow: ["example.org"] } }).success).toBe(false);
    expect(schema.safeParse({ network: { allow: [] } }).success).toBe(true);
    const wide = createSessionSchema(CodeConfig.parse({ max_network_allow: ["*.example.org"] }));
    expect(wide.safeParse({ network: { allow: ["a.example.org"] } }).success).toBe(true);
    expect(wide.safeParse({ network: { allow: ["a.example.org", "evil.org"] } }).success).toBe(false);
  });
});
