import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { ToolyardError } from "../../../core/errors.ts";

/** The path of a socket has room for 107 bytes, of which the longest name in a folder takes 10. */
const MAX_FOLDER_BYTES = 97;
const OWNER_FILE = "owner";

/** Where machines have their folders, when the config does not say. */
export function defaultMachinesFolder(): string {
  return path.join(tmpdir(), `toolyard-qemu-${process.getuid?.() ?? 0}`);
}

/**
 * Makes a folder for one machine, which only the user who runs it (and root) may enter. It says which server it belongs to.
 *
 * @throws ToolyardError `dependency_failed` when the machines' folder is another user's, or its path too long.
 */
export async function makeMachineFolder(machines: string, runAs: number): Promise<string> {
  await mkdir(machines, { recursive: true, mode: 0o711 });
  const uid = process.getuid?.();
  const { uid: owner } = await lstat(machines);
  if (owner !== uid)
    throw new ToolyardError("dependency_failed", `${machines} is another user's; name another as folder`);
  const folder = await mkdtemp(path.join(machines, "m-"));
  try {
    if (Buffer.byteLength(folder) > MAX_FOLDER_BYTES) {
      throw new ToolyardError(
        "dependency_failed",
        `${machines} has too long a path for sockets; name another as folder`,
      );
    }
    await writeFile(path.join(folder, OWNER_FILE), await toOwner(process.pid));
    if (uid === 0) await chown(folder, runAs, runAs);
    await chmod(folder, 0o700);
    return folder;
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Removes the folders of machines whose servers are gone; the machines died with them. */
export async function sweepMachineFolders(machines: string): Promise<void> {
  const names = await readdir(machines).catch(() => []);
  await Promise.all(
    names
      .filter((name) => name.startsWith("m-"))
      .map(async (name) => {
        const folder = path.join(machines, name);
        const owner = await readFile(path.join(folder, OWNER_FILE), "utf8").catch(() => "");
        // One without an owner is being made.
        if (owner === "" || (await isAlive(owner))) return;
        await rm(folder, { recursive: true, force: true }).catch(() => {});
      }),
  );
}

/** A process by its number and when it started, since numbers come again. */
async function toOwner(pid: number): Promise<string> {
  const line = await readFile(`/proc/${pid}/stat`, "utf8");
  // The name of the program, in parentheses, may hold anything.
  const startedAt = line.slice(line.lastIndexOf(")") + 2).split(" ")[19];
  return `${pid} ${startedAt}`;
}

async function isAlive(owner: string): Promise<boolean> {
  const pid = Number.parseInt(owner, 10);
  return Number.isInteger(pid) && (await toOwner(pid).catch(() => "")) === owner;
}
