/** The parts that keep sandboxed code from the host, and whose flaws are therefore ours. */
export type Component = "runc" | "containerd" | "docker" | "bubblewrap";

/** A published flaw of a component, by which code may leave its sandbox or learn what it should not. */
export interface Vulnerability {
  readonly component: Component;
  readonly ids: readonly string[];
  readonly what: string;
  /** The first good version of every line of releases that got one; lines older than all of these stay flawed. */
  readonly fixedIn: readonly string[];
  /** Where Debian carries the fix under an older number: `1.1.5` from revision 1 of `+deb12u1` on. */
  readonly debian?: readonly { readonly version: string; readonly release: number; readonly revision: number }[];
  /** It takes an authorization plugin, which most engines do not have. */
  readonly needsAuthorizationPlugin?: true;
}

export const KNOWN_VULNERABILITIES: readonly Vulnerability[] = [
  {
    component: "runc",
    ids: ["CVE-2024-21626"],
    what: "a leaked file descriptor is a way to the host's files",
    fixedIn: ["1.1.12"],
    debian: [{ version: "1.1.5", release: 12, revision: 1 }],
  },
  {
    component: "runc",
    ids: ["CVE-2025-31133", "CVE-2025-52565", "CVE-2025-52881"],
    what: "masked paths, the console and writes to /proc can be redirected",
    fixedIn: ["1.2.8", "1.3.3", "1.4.0-rc.3"],
  },
  {
    component: "runc",
    ids: ["CVE-2026-41579"],
    what: "an image's /dev can be a symbolic link",
    fixedIn: ["1.3.6", "1.4.3"],
  },
  {
    component: "containerd",
    ids: ["CVE-2024-40635"],
    what: "a user id that is too large becomes root",
    fixedIn: ["1.6.38", "1.7.27", "2.0.4"],
    debian: [{ version: "1.6.20", release: 12, revision: 2 }],
  },
  {
    component: "containerd",
    ids: ["CVE-2024-25621"],
    what: "its folders can be entered by every user of the host",
    fixedIn: ["1.7.29", "2.0.7", "2.1.5", "2.2.0"],
    debian: [{ version: "1.6.20", release: 12, revision: 2 }],
  },
  {
    component: "docker",
    ids: ["CVE-2024-41110"],
    what: "a request without a body passes authorization plugins",
    fixedIn: ["23.0.15", "25.0.6", "26.1.5", "27.1.1"],
    debian: [{ version: "20.10.24", release: 12, revision: 1 }],
    needsAuthorizationPlugin: true,
  },
  {
    component: "bubblewrap",
    ids: ["CVE-2026-87766"],
    what: "a flaw of the sandbox itself",
    fixedIn: ["0.12.0"],
  },
];

/** A version as vendors write it: `1.1.5+ds1-1+deb12u1`, `v1.2.5-0-g59923ef`, `1.4.0-rc.3`. */
export interface Version {
  readonly numbers: readonly [major: number, minor: number, patch: number];
  /** The number of a release candidate; infinite for a release. */
  readonly candidate: number;
  readonly debian: { readonly release: number; readonly revision: number } | null;
}

/** Reads a version; `null` for what is none, such as a commit. */
export function parseVersion(text: string): Version | null {
  const [, major, minor, patch, candidate] =
    /^v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?:[-~]rc\.?(\d{1,6}))?/.exec(text) ?? [];
  if (major === undefined || minor === undefined) return null;
  const [, release, revision] = /\+deb(\d{1,6})u(\d{1,6})/.exec(text) ?? [];
  return {
    numbers: [Number(major), Number(minor), Number(patch ?? 0)],
    candidate: candidate === undefined ? Number.POSITIVE_INFINITY : Number(candidate),
    debian: release === undefined ? null : { release: Number(release), revision: Number(revision) },
  };
}

/** The known flaws that a version of a component has; none for a version that cannot be read. */
export function findVulnerabilities(component: Component, version: string): readonly Vulnerability[] {
  const parsed = parseVersion(version);
  if (parsed === null) return [];
  return KNOWN_VULNERABILITIES.filter((flaw) => flaw.component === component && isAffected(parsed, flaw));
}

function isAffected(version: Version, { fixedIn, debian = [] }: Vulnerability): boolean {
  if (debian.some((fix) => isDebianFix(version, fix))) return false;
  const fixes = fixedIn.flatMap((text) => parseVersion(text) ?? []);
  const ownLine = fixes.find((fix) => isSameLine(fix, version));
  if (ownLine !== undefined) return compare(version, ownLine) < 0;
  // A line that got no fix of its own is good only if it began after all of them.
  return !fixes.every((fix) => compare(version, fix) > 0);
}

function isDebianFix(
  { numbers, debian }: Version,
  fix: { readonly version: string; readonly release: number; readonly revision: number },
): boolean {
  return numbers.join(".") === fix.version && debian?.release === fix.release && debian.revision >= fix.revision;
}

function isSameLine(one: Version, other: Version): boolean {
  return one.numbers[0] === other.numbers[0] && one.numbers[1] === other.numbers[1];
}

function compare(one: Version, other: Version): number {
  for (const [index, number] of one.numbers.entries()) {
    const difference = number - (other.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return one.candidate === other.candidate ? 0 : one.candidate < other.candidate ? -1 : 1;
}
