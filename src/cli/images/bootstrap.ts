import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, rmdir, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { accessSync, constants } from "node:fs";
import { PassThrough } from "node:stream";
import { createInterface } from "node:readline";
import type Docker from "dockerode";
import { CommandError } from "../command.ts";
import { findImage, reasonOf } from "./engine.ts";
import { readEngineEvents } from "./progress.ts";
import type { BuildReporter } from "./reporter.ts";

/** Where the base that is made on this machine is kept. */
export const LOCAL_BASE = "toolyard/base:bookworm";

const VERSION_LABEL = "toolyard.image.version";
const NEEDED_BYTES = 1.5e9;
const LEFT_OUT = ["man", "doc", "locale"].map((folder) => `--dpkgopt=path-exclude=/usr/share/${folder}/*`);
/** What `debian:bookworm-slim` is: the required packages, without manuals. No mirror: the machine's own sources count. */
const ARGUMENTS = [
  "--variant=minbase",
  "--format=tar",
  '--aptopt=Acquire::Languages "none"',
  ...LEFT_OUT,
  "--dpkgopt=force-unsafe-io",
  "--include=ca-certificates",
  "bookworm",
  "-",
];

/** What surrounds the making of an image. */
export interface MakingOptions {
  readonly reporter: BuildReporter;
  readonly signal: AbortSignal;
  /** Makes it anew although it is there. */
  readonly force: boolean;
}

/** Says why a base cannot be made here, with the remedy; `null` when it can be tried. */
export function whyNoBootstrap(): string | null {
  if (process.platform !== "linux") return "a base can only be made from Debian's packages on Linux";
  return findProgram("mmdebstrap") === undefined
    ? "mmdebstrap, which makes one from Debian's packages, is not installed (apt-get install mmdebstrap)"
    : null;
}

/**
 * Makes a Debian base from packages, where no registry has one; takes the one that was made before.
 *
 * @throws CommandError with what mmdebstrap or the engine said
 */
export async function bootstrapBase(engine: Docker, { reporter, signal, force }: MakingOptions): Promise<string> {
  const version = createHash("sha256").update(JSON.stringify(ARGUMENTS)).digest("hex").slice(0, 12);
  const present = await findImage(engine, LOCAL_BASE);
  if (!force && present?.labels[VERSION_LABEL] === version) return LOCAL_BASE;
  const problem = whyNoBootstrap();
  if (problem !== null) throw new CommandError(`no base image: ${problem}`);
  reporter.step(`making the base ${LOCAL_BASE} with mmdebstrap, which takes about a minute`);
  const folder = await mkdtemp(join(await roomyFolder(), "toolyard-base-"));
  try {
    await importBase(engine, { folder, version, reporter, signal });
  } finally {
    // mmdebstrap cleans up after itself. What it could not remove may hold mounts, so it is never deleted from here.
    await rmdir(folder).catch(() => reporter.step(`${folder} was left behind: look into it, then remove it`));
  }
  return LOCAL_BASE;
}

async function importBase(
  engine: Docker,
  options: Pick<MakingOptions, "reporter" | "signal"> & { readonly folder: string; readonly version: string },
): Promise<void> {
  const { folder, version, reporter, signal } = options;
  // The archive ends only once mmdebstrap says that it is whole: half of one would be imported without complaint.
  const archive = new PassThrough();
  const failed = new AbortController();
  const made = makeArchive({ folder, reporter, signal, archive }).catch((error: unknown) => {
    failed.abort(error);
    throw error;
  });
  const [repo, tag] = LOCAL_BASE.split(":");
  const changes = [`LABEL ${VERSION_LABEL}=${version}`, 'CMD ["bash"]'];
  const importing = readImport(engine, archive, { repo, tag, changes, abortSignal: failed.signal });
  const [archived, imported] = await Promise.allSettled([made, importing]);
  if (archived.status === "rejected") throw archived.reason;
  if (imported.status === "rejected") {
    throw new CommandError(`the engine did not import the base: ${reasonOf(imported.reason)}`);
  }
}

async function readImport(engine: Docker, archive: PassThrough, options: object): Promise<void> {
  try {
    for await (const event of readEngineEvents(await engine.importImage(archive, options))) {
      if (event.kind === "failure") throw new Error(event.message);
    }
  } catch (error) {
    // Nobody reads the rest, and a pipe that is full would hold mmdebstrap for ever.
    archive.resume();
    throw error;
  }
}

async function makeArchive(
  options: Pick<MakingOptions, "reporter" | "signal"> & { readonly folder: string; readonly archive: PassThrough },
): Promise<void> {
  const { folder, reporter, signal, archive } = options;
  signal.throwIfAborted();
  const child = spawn("mmdebstrap", ARGUMENTS, {
    env: { ...process.env, TMPDIR: folder },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  // To its whole group, since mmdebstrap itself waits for what it runs. A polite one only: it unmounts and removes what it
  // made before it ends.
  const stop = (): void => void (child.pid !== undefined && process.kill(-child.pid, "SIGTERM"));
  signal.addEventListener("abort", stop, { once: true });
  child.stdout.pipe(archive, { end: false });
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (line.startsWith("I: ")) reporter.step(line.slice(3));
    else reporter.output(line);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  }).finally(() => signal.removeEventListener("abort", stop));
  signal.throwIfAborted();
  if (code !== 0) {
    reporter.showTail();
    const asRoot = process.getuid?.() === 0 ? "" : "; run it as root, or name an image of yours with --base";
    throw new CommandError(`no base image: mmdebstrap ended with ${code}${asRoot}`);
  }
  archive.end();
}

/** The system is unpacked in memory where there is room, which halves the time. */
async function roomyFolder(): Promise<string> {
  for (const folder of ["/dev/shm", tmpdir()]) {
    // oxlint-disable-next-line no-await-in-loop
    const room = await statfs(folder).catch(() => null);
    if (room !== null && room.bavail * room.bsize > NEEDED_BYTES) return folder;
  }
  return "/var/tmp";
}

function findProgram(name: string): string | undefined {
  const paths = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
