import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HostList, normalizeHost } from "../../src/egress/host-list.ts";

describe("host list", () => {
  it("B08 allows nothing when it is empty", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6(), fc.string()),
        fc.integer({ min: 1, max: 65_535 }),
        (host, port) => {
          expect(new HostList([]).allows(host, port)).toBe(false);
        },
      ),
    );
  });

  it("allows the host that is named, on the web's ports, however it is spelled", () => {
    const list = new HostList(["Example.org", "bücher.example"]);
    for (const host of ["example.org", "EXAMPLE.ORG", "example.org."]) expect(list.allows(host, 443)).toBe(true);
    expect(list.allows("xn--bcher-kva.example", 80)).toBe(true);
    for (const host of ["www.example.org", "example.org.evil.com", "evilexample.org", "org", ""])
      expect(list.allows(host, 443)).toBe(false);
    expect(list.allows("example.org", 8080)).toBe(false);
  });

  it("allows subdomains by a star, and not the domain itself", () => {
    const list = new HostList(["*.example.org"]);
    expect(list.allows("a.b.example.org", 443)).toBe(true);
    expect(list.allows("example.org", 443)).toBe(false);
    expect(list.allows("badexample.org", 443)).toBe(false);
  });

  it("allows a port that is named, and that one only", () => {
    const list = new HostList(["db.example.org:5432", "127.0.0.1:8080"]);
    expect(list.allows("db.example.org", 5432)).toBe(true);
    expect(list.allows("db.example.org", 443)).toBe(false);
    expect(list.namesPort("db.example.org", 5432)).toBe(true);
    expect(list.allows("2130706433", 8080)).toBe(true);
    expect(new HostList(["example.org"]).namesPort("example.org", 443)).toBe(false);
  });

  it("allows every host by *, on the web's ports only", () => {
    const list = new HostList(["*", "db.test:5432"]);
    expect([list.allows("example.org", 443), list.allows("10.0.0.1", 80), list.allows("example.org", 22)]).toEqual([
      true,
      true,
      false,
    ]);
    expect([list.allows("db.test", 5432), list.allows("no host", 80)]).toEqual([true, false]);
  });

  it.each([
    "*.*",
    "http://example.org",
    "example.org/path",
    "user@example.org",
    "a b",
    "example.org:0",
    "example.org:99999",
    "*.1.2.3.4",
    "",
  ])("refuses the entry %j", (entry) => {
    expect(() => new HostList([entry])).toThrow(/no host that a sandbox may be allowed/);
  });

  it("never takes two hosts for one unless URLs do", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const name = normalizeHost(text);
        if (name !== null) expect(normalizeHost(name)).toBe(name);
      }),
      { examples: [["."], [".."]] },
    );
  });
});
