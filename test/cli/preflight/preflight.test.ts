import { readFileSync } from "node:fs";
import Docker from "dockerode";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Finding, toRow } from "../../../src/cli/finding.ts";
import { judgeEngine } from "../../../src/cli/preflight/engine-findings.ts";
import { parseEngineReport } from "../../../src/cli/preflight/engine-report.ts";
import { judgeRoom, judgeUserNamespaces, parseBubblewrap } from "../../../src/cli/preflight/machine-findings.ts";
import { toFinding } from "../../../src/cli/preflight/preflight.ts";

const recorded = new URL("./recorded/debian-12-engine-20.10.json", import.meta.url);
const debian: { readonly version: object; readonly info: object } = JSON.parse(readFileSync(recorded, "utf8"));

/** The marks of a report's findings, by what they are about. */
function marks(version: unknown, info: unknown): Record<string, string> {
  return toMarks(judgeEngine(parseEngineReport(version, info)));
}

function toMarks(findings: readonly Finding[]): Record<string, string> {
  return Object.fromEntries(findings.map((finding) => [finding.check, toRow(finding)[0] ?? ""]));
}

/** As Docker's own packages report themselves. */
const upstream = {
  Version: "29.0.1",
  ApiVersion: "1.52",
  Components: [
    { Name: "Engine", Version: "29.0.1", Details: { GitCommit: "198b5e3" } },
    { Name: "containerd", Version: "v2.1.5", Details: { GitCommit: "fcd43222d6b07379a4be9786bda52438f0dd16a1" } },
    { Name: "runc", Version: "1.3.6", Details: { GitCommit: "v1.3.6-0-g1234567" } },
  ],
};
const bounded = {
  OSType: "linux",
  CgroupVersion: "2",
  MemoryLimit: true,
  SwapLimit: true,
  PidsLimit: true,
  CpuCfsQuota: true,
};
const confined = { ...bounded, SecurityOptions: ["name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"] };

describe("the preflight of an engine", () => {
  it("warns of Debian 12's runc, whose fixes Debian's revision tells, and not of its containerd (B04)", () => {
    const findings = judgeEngine(parseEngineReport(debian.version, debian.info));
    expect(toMarks(findings)).toEqual({
      engine: "ok",
      "version of containerd": "ok",
      "version of runc": "warn",
      "engine cgroup": "ok",
      "engine seccomp": "ok",
      "engine confinement": "warn",
    });
    const runc = findings.find(({ check }) => check === "version of runc");
    expect(runc?.detail).toContain("1.1.5+ds1-1+deb12u1");
    expect(runc?.detail).toContain("CVE-2025-31133");
    expect(runc?.detail).not.toContain("CVE-2024-21626");
    expect(runc?.remedy).toContain("1.3.6 or 1.4.3");
  });

  it("finds nothing to say of a current engine with AppArmor", () => {
    expect(new Set(Object.values(marks(upstream, confined)))).toEqual(new Set(["ok"]));
  });

  it.each([
    ["no memory controller", { ...confined, MemoryLimit: false }, "engine cgroup", "FAILED"],
    ["no pids controller", { ...confined, PidsLimit: false }, "engine cgroup", "FAILED"],
    ["swap that is not counted", { ...confined, SwapLimit: false }, "engine cgroup", "warn"],
    ["seccomp off", { ...confined, SecurityOptions: ["name=apparmor"] }, "engine seccomp", "warn"],
    [
      "seccomp unconfined",
      { ...bounded, SecurityOptions: ["name=seccomp,profile=unconfined"] },
      "engine seccomp",
      "warn",
    ],
    [
      "rootless",
      { ...bounded, SecurityOptions: ["name=seccomp,profile=builtin", "name=rootless"] },
      "engine confinement",
      "ok",
    ],
    ["userns-remap", { ...bounded, SecurityOptions: ["name=userns"] }, "engine confinement", "ok"],
    ["Windows containers", { ...confined, OSType: "windows" }, "engine", "FAILED"],
  ])("judges an engine with %s", (_, info, check, mark) => {
    expect(marks(upstream, info)[check]).toBe(mark);
  });

  it("counts the flaw of authorization plugins only where there are any", () => {
    const old = { ...upstream, Version: "26.1.4" };
    expect(marks(old, confined)).not.toHaveProperty("version of docker");
    expect(marks(old, { ...confined, Plugins: { Authorization: ["opa"] } })["version of docker"]).toBe("warn");
  });

  it("tells every finding that is not ok what to do, whatever an engine says of itself", () => {
    fc.assert(
      fc.property(
        fc.anything(),
        fc.record({ OSType: fc.constant("linux"), SecurityOptions: fc.anything() }),
        (version, info) => {
          for (const finding of judgeEngine(parseEngineReport(version, info))) {
            expect(finding.ok || finding.remedy !== undefined).toBe(true);
          }
        },
      ),
    );
  });

  const engine = new Docker({ socketPath: "/var/run/docker.sock" });
  it("reads the engine of this machine", async (test) => {
    const [version, info] = await Promise.all([engine.version(), engine.info()]).catch(() => []);
    if (version === undefined) test.skip("no Docker Engine answers");
    const findings = toMarks(judgeEngine(parseEngineReport(version, info)));
    expect(findings["engine"]).toBe("ok");
    expect(Object.keys(findings)).toContain("version of runc");
  });
});

describe("the preflight of a machine", () => {
  it("judges the room on disk", () => {
    const bounds = { scarceBytes: 100, leastBytes: 10, remedy: "Make room." };
    const mark = (freeBytes: number) => toRow(judgeRoom("room", "/", { freeBytes, totalBytes: 1000 }, bounds))[0];
    expect([5, 10, 99, 100].map(mark)).toEqual(["FAILED", "warn", "warn", "ok"]);
  });

  it("judges user namespaces by the kernel's switches, which older kernels lack", () => {
    const open = { max: 15_000, unprivilegedClone: null, apparmorRestricts: null };
    expect(judgeUserNamespaces(open).ok).toBe(true);
    expect(judgeUserNamespaces({ ...open, max: 0 }).remedy).toContain("max_user_namespaces");
    expect(judgeUserNamespaces({ ...open, unprivilegedClone: 0 }).remedy).toContain("unprivileged_userns_clone");
    expect(judgeUserNamespaces({ ...open, apparmorRestricts: 1 }).remedy).toContain("AppArmor");
  });

  it("reads bubblewrap's version", () => {
    expect(parseBubblewrap("bubblewrap 0.8.0\n")).toBe("0.8.0");
    expect(parseBubblewrap("")).toBeNull();
  });

  it("names the command that builds an image that is missing or of other files", () => {
    const entry = {
      name: "code",
      reference: "toolyard/code:latest",
      version: null,
      base: null,
      size_bytes: 1,
      built_at: null,
    };
    expect(toRow(toFinding({ ...entry, state: "missing" }))).toEqual([
      "missing",
      "image code",
      "the engine has no toolyard/code:latest. To build it: toolyard images build code",
    ]);
    expect(toRow(toFinding({ ...entry, state: "outdated" }))[0]).toBe("warn");
    expect(toRow(toFinding({ ...entry, state: "built" }))[0]).toBe("ok");
  });
});
