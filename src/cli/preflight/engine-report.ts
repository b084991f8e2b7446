import { z } from "zod";

const Text = z.string().catch("");
const Flag = z.boolean().catch(false);

/** What the engine's `/version` says; other engines leave parts of it out. */
const VersionReport = z.object({
  Version: Text,
  ApiVersion: Text,
  Components: z
    .array(z.object({ Name: Text, Version: Text, Details: z.record(z.string(), z.unknown()).catch({}) }))
    .catch([]),
});

/** What the engine's `/info` says. */
const InfoReport = z.object({
  OSType: Text,
  Driver: Text,
  DockerRootDir: Text,
  CgroupVersion: Text,
  CgroupDriver: Text,
  MemoryLimit: Flag,
  SwapLimit: Flag,
  PidsLimit: Flag,
  CpuCfsQuota: Flag,
  SecurityOptions: z.array(z.string()).catch([]),
  Plugins: z.object({ Authorization: z.array(z.string()).nullable().catch(null) }).catch({ Authorization: null }),
});

/** What an engine tells of itself, as far as the preflight reads it. */
export interface EngineReport {
  readonly version: z.output<typeof VersionReport>;
  readonly info: z.output<typeof InfoReport>;
}

/** Reads the answers of `/version` and `/info`; what an engine leaves out counts as not there. */
export function parseEngineReport(version: unknown, info: unknown): EngineReport {
  return { version: VersionReport.parse(toObject(version)), info: InfoReport.parse(toObject(info)) };
}

function toObject(answer: unknown): object {
  return typeof answer === "object" && answer !== null && !Array.isArray(answer) ? answer : {};
}

/**
 * The version of one of the engine's components, as exactly as it is known: Debian puts its revision, which says what is
 * mended, where others have a commit.
 */
export function componentVersion({ version }: EngineReport, name: string): string | null {
  const component = version.Components.find((one) => one.Name === name);
  if (component === undefined) return null;
  const commit = component.Details["GitCommit"];
  return typeof commit === "string" && /^\d+\.\d+.*\+deb\d+u\d+/.test(commit) ? commit : component.Version;
}

/** The engine's security options as a table: `name=seccomp,profile=default` is `seccomp` → `default`. */
export function securityOptions({ info }: EngineReport): ReadonlyMap<string, string> {
  return new Map(
    info.SecurityOptions.map((option) => {
      const parts = new Map(option.split(",").map((part) => [part.split("=")[0] ?? "", part.split("=")[1] ?? ""]));
      return [parts.get("name") ?? option, parts.get("profile") ?? ""];
    }),
  );
}
