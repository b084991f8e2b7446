import { createHash, randomBytes } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join, resolve } from "node:path";

// A unix socket's path holds 107 bytes; below the state folder we need "/s/<16>/m/host.sock".
const MAX_PATH_BYTES = 107 - 32;

/** Where the docker runtime of one deployment keeps its sockets and tokens, and by what its containers are known. */
export interface StateFolder {
  readonly path: string;
  /** The same for every server that ever uses this folder, and for no other. */
  readonly deployment: string;
}

/**
 * Chooses the folder: the configured one, or one in the data folder, or, where that path is too long for sockets or there is
 * no data folder, one of the user's own in the system's folder for temporary files.
 */
export function chooseStateFolder(options: { readonly configured?: string; readonly dataDir?: string }): string {
  const { configured, dataDir } = options;
  if (configured !== undefined) return resolve(configured);
  const own = join(tmpdir(), `toolyard-${userInfo().uid}`);
  if (dataDir === undefined) return join(own, "shared");
  const inside = resolve(dataDir, "docker");
  return Buffer.byteLength(inside) <= MAX_PATH_BYTES ? inside : join(own, digest(resolve(dataDir)));
}

/**
 * Makes the folder if it is not there, for this user only: the engine mounts what lies in it, whoever may walk there.
 *
 * @throws Error that says what is wrong with a folder that another user could write or that is too deep for sockets.
 */
export function openStateFolder(path: string): StateFolder {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const real = realpathSync(path);
  if (Buffer.byteLength(real) > MAX_PATH_BYTES) {
    throw new Error(`the path of runtimes.docker.state_folder may have ${MAX_PATH_BYTES} bytes: ${real}`);
  }
  const { uid, mode } = lstatSync(real);
  const self = userInfo().uid;
  if (self !== uid && self !== 0) throw new Error(`${real} belongs to another user`);
  if ((mode & 0o077) !== 0) chmodSync(real, 0o700);
  for (const name of ["s", "i"]) mkdirSync(join(real, name), { recursive: true, mode: 0o700 });
  // With the path, so that a copy of the folder is another deployment.
  return { path: real, deployment: digest(`${readOrMakeName(join(real, "deployment"))}\n${real}`) };
}

function readOrMakeName(path: string): string {
  try {
    writeFileSync(path, `${randomBytes(16).toString("hex")}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  return readFileSync(path, "utf8").trim();
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);
