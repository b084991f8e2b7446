import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** The real CLI in a process of its own, as it is built: `test/fresh-build.ts` sees to it that it is of these sources. */
export interface CliProcess {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Resolves with the first line of standard output that matches; rejects when the process ends first. */
  line(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves with the exit code once the process has ended and all its output is read. */
  readonly ended: Promise<number | null>;
}

/** How the CLI is run. */
export interface CliOptions extends SpawnOptions {
  /** Flags of Node itself. */
  readonly execArgv?: readonly string[];
}

export function startCli(args: readonly string[], options: CliOptions = {}): CliProcess {
  const { env, execArgv = [], ...rest } = options;
  const child = spawn(process.execPath, [...execArgv, `${root}/dist/cli.js`, ...args], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    ...rest,
    env: { ...process.env, TOOLYARD_URL: undefined, ...env },
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  // Not "close", which never comes once the IPC channel was closed from this side.
  const outputs = [child.stdout, child.stderr].map((stream) => stream && once(stream, "end"));
  const ended = once(child, "exit").then(async ([code]: unknown[]) => {
    await Promise.all(outputs);
    return typeof code === "number" ? code : null;
  });
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    line: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = pattern.exec(stdout);
          if (found !== null) resolve(found);
        };
        look();
        child.stdout?.on("data", look);
        void ended.then((code) => reject(new Error(`the CLI ended with ${code}: ${stderr}`)));
      }),
  };
}

/** What a command came to. */
export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the CLI to its end. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const process = startCli(args, options);
  const code = await process.ended;
  return { code, stdout: process.stdout(), stderr: process.stderr() };
}

/** A fixtures server behind the CLI's own `serve`. */
export async function serveFixtures(
  args: readonly string[] = [],
  options: CliOptions = {},
): Promise<CliProcess & { readonly url: string }> {
  const server = startCli(["serve", "--config", `${root}/configs/fixtures.json`, "--port", "0", ...args], options);
  const [, url = ""] = await server.line(/listens on (http:\/\/[^ ]+)/);
  return { ...server, url };
}
