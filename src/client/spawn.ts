import { type ChildProcess, fork } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ServerExit } from "./errors/server-ended-error.ts";
import { ServerStartError } from "./errors/server-start-error.ts";

/** What to start, and how long it may take. */
export interface SpawnOptions {
  /** The server's config file; the package's default one when absent. */
  readonly configPath?: string | undefined;
  /** The server's data folder; its own default when absent. */
  readonly dataDir?: string | undefined;
  /** @default 0, any free one */
  readonly port?: number | undefined;
  readonly startupTimeoutMs: number;
  /** The server's program, which takes `serve` and its flags. @default the package's own */
  readonly entry?: URL | undefined;
}

/** A server that runs as a child of this process, and dies with it. */
export interface SpawnedServer {
  readonly url: string;
  readonly pid: number;
  /** How it ended; `null` while it runs. */
  readonly exit: ServerExit | null;
  /** Resolves when it has ended, for whatever reason. */
  readonly ended: Promise<ServerExit>;
  /** Ends it: SIGTERM, and SIGKILL after `graceMs`, 5 s by default. Safe to call more than once. */
  stop(graceMs?: number): Promise<void>;
}

const STOP_GRACE_MS = 5_000;
const STDERR_GRACE_MS = 500;
const STDERR_TAIL_LENGTH = 8_192;

/**
 * Forks a server and waits until it says that it listens.
 *
 * @throws ServerStartError when it exits first, with the last of its stderr, or is not up in time.
 */
export async function spawnServer(options: SpawnOptions): Promise<SpawnedServer> {
  const child = forkServer(options);
  const tail = keepTail(child);
  let exit: ServerExit | null = null;
  const ended = new Promise<ServerExit>((resolve) => {
    const end = (exitCode: number | null, signal: string | null) => {
      exit ??= { exitCode, signal, stderrTail: tail() };
      resolve(exit);
    };
    // `close` comes after the last of stderr was read, or never while a grandchild holds it.
    child.once("close", end);
    child.once("exit", (exitCode, signal) => setTimeout(end, STDERR_GRACE_MS, exitCode, signal));
    // It could not be started at all.
    child.once("error", () => end(null, null));
  });
  const stop = (graceMs = STOP_GRACE_MS) => stopChild(child, ended, graceMs);
  try {
    const url = await listening(child, ended, options.startupTimeoutMs, tail);
    letParentExit(child);
    return {
      url,
      pid: child.pid ?? 0,
      get exit() {
        return exit;
      },
      ended,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function forkServer({ configPath, dataDir, port = 0, entry = ownEntry() }: SpawnOptions): ChildProcess {
  const flags = ["serve", "--port", String(port)];
  if (configPath !== undefined) flags.push("--config", configPath);
  // It dies with its parent, and several may run in one folder: it keeps nothing unless told where.
  flags.push(...(dataDir === undefined ? ["--ephemeral"] : ["--data", dataDir]));
  const isSource = entry.pathname.endsWith(".ts");
  return fork(fileURLToPath(entry), flags, {
    execPath: process.execPath,
    // Nothing of the parent's own flags: an inspector's port, say, is taken.
    execArgv: isSource ? ["--import", sourceLoader()] : [],
    env: isSource ? { ...process.env, TSX_TSCONFIG_PATH: packageFile("tsconfig.json") } : process.env,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
}

function ownEntry(): URL {
  // The sources run the sources, so that tests do not test yesterday's build.
  return new URL(import.meta.url.endsWith(".ts") ? "../cli.ts" : "../cli.js", import.meta.url);
}

function packageFile(name: string): string {
  return fileURLToPath(new URL(`../../${name}`, import.meta.url));
}

/** Node's own type stripping knows no decorators. */
function sourceLoader(): string {
  return pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
}

function keepTail(child: ChildProcess): () => string {
  let tail = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-STDERR_TAIL_LENGTH);
  });
  return () => tail;
}

async function listening(
  child: ChildProcess,
  ended: Promise<ServerExit>,
  startupTimeoutMs: number,
  tail: () => string,
): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<string>((resolve, reject) => {
      child.on("message", (message) => {
        const url = toListeningUrl(message);
        if (url !== undefined) resolve(url);
      });
      child.once("error", (cause) => {
        reject(new ServerStartError(cause.message, { exitCode: null, signal: null, stderrTail: "" }, cause));
      });
      void ended.then((exit) => {
        reject(new ServerStartError(`it ended with ${exit.signal ?? `exit code ${exit.exitCode}`}`, exit));
      });
      timer = setTimeout(() => {
        const exit = { exitCode: null, signal: null, stderrTail: tail() };
        reject(new ServerStartError(`it was not ready within ${startupTimeoutMs} ms`, exit));
      }, startupTimeoutMs);
    });
  } finally {
    clearTimeout(timer);
  }
}

function toListeningUrl(message: unknown): string | undefined {
  if (typeof message !== "object" || message === null) return undefined;
  if (!("type" in message) || message.type !== "listening") return undefined;
  return "url" in message && typeof message.url === "string" ? message.url : undefined;
}

/** A script that forgets to close ends all the same; its server ends with the IPC channel. */
function letParentExit(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
  if (child.stderr !== null && "unref" in child.stderr && typeof child.stderr.unref === "function")
    child.stderr.unref();
}

async function stopChild(child: ChildProcess, ended: Promise<ServerExit>, graceMs: number): Promise<void> {
  // From here on the caller waits for the child, so the process must, too.
  child.ref();
  child.kill("SIGTERM");
  const killer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  await ended;
  clearTimeout(killer);
}
