import { failure, type Finding, good, warning } from "../finding.ts";
import { type Component, findVulnerabilities } from "../known-vulnerabilities.ts";
import { componentVersion, type EngineReport, securityOptions } from "./engine-report.ts";

/** Judges what an engine says of itself: whether its sandboxes are bounded, and what keeps them in. */
export function judgeEngine(report: EngineReport): readonly Finding[] {
  const { version, info } = report;
  if (info.OSType !== "linux") {
    const remedy = "Point DOCKER_HOST at an engine with Linux containers.";
    return [failure("engine", `${version.Version} runs ${info.OSType || "unknown"} containers`, remedy)];
  }
  const engine = good("engine", `Docker ${version.Version}, API ${version.ApiVersion}, storage ${info.Driver}`);
  return [engine, ...judgeComponents(report), judgeCgroup(report), judgeSeccomp(report), judgeConfinement(report)];
}

function judgeComponents(report: EngineReport): readonly Finding[] {
  const hasPlugins = (report.info.Plugins.Authorization ?? []).length > 0;
  const versions: readonly (readonly [Component, string | null])[] = [
    ["docker", hasPlugins ? report.version.Version : null],
    ["containerd", componentVersion(report, "containerd")],
    ["runc", componentVersion(report, "runc")],
  ];
  return versions.flatMap(([name, version]) => (version === null ? [] : [judgeVersion(name, version)]));
}

/** Says which known flaws a version has. */
export function judgeVersion(component: Component, version: string): Finding {
  const check = `version of ${component}`;
  const flaws = findVulnerabilities(component, version);
  if (flaws.length === 0) return good(check, `${version} has none of the flaws that Toolyard knows`);
  const list = flaws.map(({ ids, what }) => `${ids.join(", ")} (${what})`).join("; ");
  const fixes = flaws.map(({ fixedIn }) => fixedIn.join(" or ")).at(-1) ?? "";
  const remedy = `Get ${fixes} or later, from its makers if your distribution has none; a distribution may carry a fix under an older number.`;
  return warning(check, `${version} is open to ${list}`, remedy);
}

function judgeCgroup({ info }: EngineReport): Finding {
  const check = "engine cgroup";
  const { MemoryLimit: memory, PidsLimit: pids, CpuCfsQuota: cpu, SwapLimit: swap } = info;
  const lacking = Object.entries({ memory, pids }).flatMap(([name, present]) => (present ? [] : [name]));
  const detail = `version ${info.CgroupVersion || "unknown"}, driver ${info.CgroupDriver || "unknown"}`;
  if (lacking.length > 0) {
    const remedy = `Turn the ${lacking.join(" and ")} controller on in the kernel (cgroup_enable=memory) or for the user's slice (Delegate=yes).`;
    return failure(check, `${detail}: nothing bounds the ${lacking.join(" and ")} of a sandbox`, remedy);
  }
  const weak = Object.entries({ cpu, swap }).flatMap(([name, present]) => (present ? [] : [name]));
  if (weak.length > 0) {
    const remedy = "Turn them on in the kernel: swapaccount=1 for swap, the cpu controller for cpu.";
    return warning(check, `${detail}: nothing bounds the ${weak.join(" and ")} of a sandbox`, remedy);
  }
  return good(check, `${detail}; bounds memory, swap, processes and cpu`);
}

function judgeSeccomp(report: EngineReport): Finding {
  const profile = securityOptions(report).get("seccomp");
  if (profile !== undefined && profile !== "unconfined") {
    return good("engine seccomp", `filters system calls with the profile ${profile || "default"}`);
  }
  const remedy =
    "Use a kernel with CONFIG_SECCOMP_FILTER, and no unconfined seccomp-profile in the engine's daemon.json.";
  return warning("engine seccomp", "sandboxes may make every system call", remedy);
}

function judgeConfinement(report: EngineReport): Finding {
  const options = securityOptions(report);
  const present = ["apparmor", "selinux", "userns", "rootless"].filter((name) => options.has(name));
  if (present.length > 0) return good("engine confinement", present.join(", "));
  const remedy = 'Add "userns-remap": "default" to the engine\'s daemon.json, run it rootless, or turn AppArmor on.';
  return warning("engine confinement", "no AppArmor, SELinux, user namespaces or rootless mode behind seccomp", remedy);
}
