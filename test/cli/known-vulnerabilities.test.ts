import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Component,
  findVulnerabilities,
  KNOWN_VULNERABILITIES,
  parseVersion,
} from "../../src/cli/known-vulnerabilities.ts";

const ids = (component: Component, version: string) =>
  findVulnerabilities(component, version).flatMap((flaw) => flaw.ids);
const LEAK = "CVE-2024-21626";
const MASKED = "CVE-2025-31133";
const DEVICE = "CVE-2026-41579";

describe("known vulnerabilities", () => {
  it.each([
    ["1.1.5", [LEAK, MASKED, DEVICE]],
    ["1.1.5+ds1", [LEAK, MASKED, DEVICE]],
    // Debian 12 carries the fix of the first one only (B04).
    ["1.1.5+ds1-1+deb12u1", [MASKED, DEVICE]],
    ["1.1.5+deb12u1", [MASKED, DEVICE]],
    ["1.1.11", [LEAK, MASKED, DEVICE]],
    ["1.1.12", [MASKED, DEVICE]],
    ["1.2.7", [MASKED, DEVICE]],
    ["1.2.8", [DEVICE]],
    ["v1.3.2-0-gaa9ad33", [MASKED, DEVICE]],
    ["1.3.3", [DEVICE]],
    ["1.3.6", []],
    ["1.4.0-rc.2", [MASKED, DEVICE]],
    ["1.4.0-rc.3", [DEVICE]],
    ["1.4.2", [DEVICE]],
    ["1.4.3", []],
    ["1.5.0", []],
    ["2.0.0", []],
  ])("runc %s has %j", (version, expected) => {
    const found = ids("runc", version);
    expect(found.filter((id) => [LEAK, MASKED, DEVICE].includes(id))).toEqual(expected);
  });

  it("knows bubblewrap and containerd, and Debian's revisions of the latter", () => {
    expect(ids("bubblewrap", "0.8.0")).toEqual(["CVE-2026-87766"]);
    expect(ids("bubblewrap", "0.12.0")).toEqual([]);
    expect(ids("containerd", "1.6.20~ds1-1+deb12u1")).toEqual(["CVE-2024-40635", "CVE-2024-25621"]);
    expect(ids("containerd", "1.6.20~ds1-1+deb12u3")).toEqual([]);
    expect(ids("containerd", "v1.7.28")).toEqual(["CVE-2024-25621"]);
    expect(ids("containerd", "v2.3.0")).toEqual([]);
  });

  it("says nothing of a version that is none", () => {
    for (const text of ["", "dev", "a00bf0190895aa465a5fbed0268888e2c8ddfe85", "v"])
      expect(parseVersion(text)).toBeNull();
    fc.assert(fc.property(fc.string(), (text) => void ids("runc", text)));
  });

  it("never takes a fixed version for a flawed one, nor the version before it for fixed", () => {
    for (const { component, ids: own, fixedIn } of KNOWN_VULNERABILITIES) {
      for (const fixed of fixedIn) {
        const [major = 0, minor = 0, patch = 0] = parseVersion(fixed)?.numbers ?? [];
        expect(ids(component, fixed)).not.toContain(own[0]);
        if (patch > 0) expect(ids(component, `${major}.${minor}.${patch - 1}`)).toContain(own[0]);
      }
    }
  });
});
