import { execFile } from "node:child_process";
import { readFile, statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { existsSync } from "node:fs";
import { failure, type Finding, good, warning } from "../finding.ts";
import { judgeVersion } from "./engine-findings.ts";

const BWRAP_MS = 5_000;
const GIB = 1024 ** 3;

/** What a file system has left. */
export interface Room {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Judges the room that a folder has, by the sizes below which work begins to suffer, and below which it fails. */
export function judgeRoom(
  check: string,
  path: string,
  room: Room,
  {
    scarceBytes,
    leastBytes,
    remedy,
  }: { readonly scarceBytes: number; readonly leastBytes: number; readonly remedy: string },
): Finding {
  const detail = `${(room.freeBytes / GIB).toFixed(1)} of ${(room.totalBytes / GIB).toFixed(1)} GiB are free at ${path}`;
  if (room.freeBytes < leastBytes) return failure(check, detail, remedy);
  return room.freeBytes < scarceBytes ? warning(check, detail, remedy) : good(check, detail);
}

/** Looks at the disk of the data folder, or of the nearest folder above it that is there. */
export async function checkDataRoom(dataDir: string): Promise<readonly Finding[]> {
  const bounds = { scarceBytes: GIB, leastBytes: GIB / 20, remedy: "Make room, or name another folder with --data." };
  return checkRoom("data room", dataDir, bounds);
}

/** Looks at the disk that holds images, when the engine runs on this machine. */
export async function checkEngineRoom(rootDir: string): Promise<readonly Finding[]> {
  if (rootDir === "" || !existsSync(rootDir)) return [];
  const remedy = "Make room: docker image prune removes what nothing uses.";
  return checkRoom("engine room", rootDir, { scarceBytes: 5 * GIB, leastBytes: GIB / 2, remedy });
}

async function checkRoom(
  check: string,
  path: string,
  bounds: { readonly scarceBytes: number; readonly leastBytes: number; readonly remedy: string },
): Promise<readonly Finding[]> {
  let present = resolve(path);
  while (!existsSync(present)) present = dirname(present);
  const { bavail, blocks, bsize } = await statfs(present);
  return [judgeRoom(check, present, { freeBytes: bavail * bsize, totalBytes: blocks * bsize }, bounds)];
}

/** Looks at bubblewrap's version, where it is installed. */
export async function checkBubblewrap(): Promise<readonly Finding[]> {
  const output = await new Promise<string>((done) => {
    execFile("bwrap", ["--version"], { timeout: BWRAP_MS }, (error, stdout) => done(error === null ? stdout : ""));
  });
  const version = parseBubblewrap(output);
  return version === null ? [] : [judgeVersion("bubblewrap", version)];
}

/** Reads `bubblewrap 0.8.0`. */
export function parseBubblewrap(output: string): string | null {
  return /^bubblewrap (\d+\.\d+\S*)/.exec(output)?.[1] ?? null;
}

/** What the kernel says of user namespaces; `null` for a switch that it does not have. */
export interface UserNamespaces {
  readonly max: number | null;
  readonly unprivilegedClone: number | null;
  readonly apparmorRestricts: number | null;
}

/** Judges whether bubblewrap can make sandboxes for a user who is not root. */
export function judgeUserNamespaces({ max, unprivilegedClone, apparmorRestricts }: UserNamespaces): Finding {
  const check = "user namespaces";
  if (max === 0) return warning(check, "none may be made", "sysctl user.max_user_namespaces=15000");
  if (unprivilegedClone === 0) {
    return warning(check, "only root may make them", "sysctl kernel.unprivileged_userns_clone=1");
  }
  if (apparmorRestricts === 1) {
    const remedy = "Install an AppArmor profile for bwrap, or sysctl kernel.apparmor_restrict_unprivileged_userns=0";
    return warning(check, "AppArmor restricts those of users who are not root", remedy);
  }
  return good(check, "every user may make them");
}

/** Looks at the kernel's switches for user namespaces. */
export async function checkUserNamespaces(): Promise<readonly Finding[]> {
  if (process.platform !== "linux") return [];
  const [max, unprivilegedClone, apparmorRestricts] = await Promise.all(
    [
      "user/max_user_namespaces",
      "kernel/unprivileged_userns_clone",
      "kernel/apparmor_restrict_unprivileged_userns",
    ].map(readSwitch),
  );
  return [
    judgeUserNamespaces({
      max: max ?? null,
      unprivilegedClone: unprivilegedClone ?? null,
      apparmorRestricts: apparmorRestricts ?? null,
    }),
  ];
}

async function readSwitch(name: string): Promise<number | null> {
  const text = await readFile(`/proc/sys/${name}`, "utf8").catch(() => "");
  return /^\d+\s*$/.test(text) ? Number(text) : null;
}
