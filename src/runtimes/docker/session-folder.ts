import { randomBytes } from "node:crypto";
import { chmod, link, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Presence } from "./presence.ts";

/** What the socket is called in the folder that the container sees. */
export const SOCKET_NAME = "host.sock";
/** What the token is called there, until the supervisor has read it. */
export const TOKEN_NAME = "token";

const NAME = /^[0-9a-f]{16}$/;
const OWNER = /^owner-(\d{1,9})$/;
// A server that died between making an owner's file and filling it leaves it empty.
const EMPTY_OWNER_MS = 10_000;

/**
 * The folder of one sandbox, in the state folder: who owns it, its token, and the one folder that its container sees.
 * Containers outlive servers, and so do these.
 */
export class SessionFolder {
  readonly name: string;
  readonly path: string;
  readonly token: string;

  private constructor(stateFolder: string, name: string, token: string) {
    this.name = name;
    this.path = join(stateFolder, "s", name);
    this.token = token;
  }

  /** The folder that is mounted. */
  get mount(): string {
    return join(this.path, "m");
  }

  get socketPath(): string {
    return join(this.mount, SOCKET_NAME);
  }

  /** Makes a new one, which this server owns, with the supervisor's files in it. */
  static async create(stateFolder: string, presence: Presence): Promise<SessionFolder> {
    const folder = new SessionFolder(stateFolder, randomBytes(8).toString("hex"), randomBytes(32).toString("hex"));
    const sources = await presence.sources();
    await mkdir(folder.path, { mode: 0o700 });
    try {
      await folder.#fill(sources, presence);
    } catch (error) {
      // On a full disk, say: nobody else would ever remove it while this server lives.
      await folder.remove().catch(() => {});
      throw error;
    }
    return folder;
  }

  async #fill(sources: readonly string[], presence: Presence): Promise<void> {
    await writeFile(join(this.path, "owner-1"), presence.instance, { flag: "wx", mode: 0o600 });
    await writeFile(join(this.path, "token"), this.token, { mode: 0o600 });
    await mkdir(this.mount);
    // Whatever the umask: the sandbox's user must get in.
    await chmod(this.mount, 0o755);
    // Linked, not copied: the mount is read-only, and a link costs a tenth.
    await Promise.all(sources.map((path) => link(path, join(this.mount, basename(path)))));
    await writeFile(join(this.mount, TOKEN_NAME), this.token);
    await chmod(join(this.mount, TOKEN_NAME), 0o444);
  }

  /** Takes over the folder of a server that is gone; `null` when there is none, or another living server has it. */
  static async claim(stateFolder: string, name: string, presence: Presence): Promise<SessionFolder | null> {
    if (!NAME.test(name)) return null;
    const path = join(stateFolder, "s", name);
    try {
      const owner = await readOwner(path);
      if (owner.instance === presence.instance) return null;
      if (owner.instance === undefined || (await presence.isAlive(owner.instance))) return null;
      // Of two that try only one can make the next owner's file.
      await writeFile(join(path, `owner-${owner.turn + 1}`), presence.instance, { flag: "wx", mode: 0o600 });
      return new SessionFolder(stateFolder, name, await readFile(join(path, "token"), "utf8"));
    } catch (error) {
      if (isCode(error, "ENOENT") || isCode(error, "EEXIST")) return null;
      throw error;
    }
  }

  /** Whether a living server, this one included, owns the folder of that name. */
  static async isOwned(stateFolder: string, name: string, presence: Presence): Promise<boolean> {
    if (!NAME.test(name)) return false;
    try {
      const { instance } = await readOwner(join(stateFolder, "s", name));
      return instance === undefined || (await presence.isAlive(instance));
    } catch (error) {
      if (isCode(error, "ENOENT")) return false;
      throw error;
    }
  }

  /** The names of all that are there. */
  static async list(stateFolder: string): Promise<string[]> {
    return (await readdir(join(stateFolder, "s"))).filter((name) => NAME.test(name));
  }

  /** Takes the token out of the container's sight, once it has been read. */
  async hideToken(): Promise<void> {
    await rm(join(this.mount, TOKEN_NAME), { force: true });
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** Who has a folder: `undefined` while a claim is being written. */
async function readOwner(path: string): Promise<{ readonly turn: number; readonly instance: string | undefined }> {
  const turns = (await readdir(path)).flatMap((file) => Number(OWNER.exec(file)?.[1] ?? []));
  const turn = Math.max(0, ...turns);
  const file = join(path, `owner-${turn}`);
  const instance = await readFile(file, "utf8");
  if (instance !== "") return { turn, instance };
  const { mtimeMs } = await stat(file);
  return { turn, instance: Date.now() - mtimeMs > EMPTY_OWNER_MS ? "" : undefined };
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
