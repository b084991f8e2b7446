import { ConfigError } from "../config/config-error.ts";
import { didYouMean } from "../config/near-name.ts";
import { ToolyardError } from "../core/errors.ts";
import { type Command, CommandError, type Terminal, UsageError } from "./command.ts";

/** A command by its name: one line for the overview, and its module, which is not loaded until it is named. */
interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Command>;
}

const COMMANDS: readonly CommandEntry[] = [
  { name: "serve", summary: "Run the server", load: async () => (await import("./serve.ts")).serve },
  { name: "exec", summary: "Call a tool of a running server", load: async () => (await import("./exec.ts")).exec },
  {
    name: "tools",
    summary: "List a server's tools, or show one with its params",
    load: async () => (await import("./tools.ts")).tools,
  },
  { name: "sessions", summary: "List a worker's sessions", load: async () => (await import("./sessions.ts")).sessions },
  {
    name: "jobs",
    summary: "List jobs, or show, await or cancel one",
    load: async () => (await import("./jobs.ts")).jobs,
  },
  {
    name: "keys",
    summary: "Make, list, revoke and rotate API keys",
    load: async () => (await import("./keys.ts")).keys,
  },
  {
    name: "rag",
    summary: "Index and search shared collections, measure retrieval",
    load: async () => (await import("./rag.ts")).rag,
  },
  {
    name: "images",
    summary: "Build and list the images of Docker sandboxes",
    load: async () => (await import("./images.ts")).images,
  },
  {
    name: "doctor",
    summary: "Say what works on this machine, and how to get what does not",
    load: async () => (await import("./doctor.ts")).doctor,
  },
  {
    name: "init",
    summary: "Scaffold a backend, its test and its config",
    load: async () => (await import("./init.ts")).init,
  },
];

/** Runs the CLI and sets the exit code: 0 done, 1 it could not be done, 2 the command line is wrong. */
export async function run(args: readonly string[]): Promise<void> {
  // A reader that closes its end (`toolyard tools | head`) is no failure.
  process.stdout.on("error", () => undefined);
  const terminal: Terminal = {
    print: (text) => void process.stdout.write(`${text}\n`),
    warn: (text) => void process.stderr.write(`${text}\n`),
    environment: process.env,
  };
  try {
    process.exitCode = await dispatch(args, terminal);
  } catch (error) {
    terminal.warn(`toolyard: ${toLine(error)}`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

async function dispatch([first, ...rest]: readonly string[], terminal: Terminal): Promise<number> {
  if (first === "--version" || first === "-V") {
    const { packageVersion } = await import("../main.ts");
    terminal.print(packageVersion());
    return 0;
  }
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    const command = await COMMANDS.find(({ name }) => name === rest[0])?.load();
    terminal.print(command?.help ?? overview());
    return 0;
  }
  const entry = COMMANDS.find(({ name }) => name === first);
  if (entry === undefined) {
    const names = COMMANDS.map(({ name }) => name);
    throw new UsageError(`unknown command ${first}${didYouMean(first, names) || `; there are ${names.join(", ")}`}`);
  }
  const command = await entry.load();
  const flags = rest.slice(0, rest.includes("--") ? rest.indexOf("--") : undefined);
  if (flags.includes("--help") || flags.includes("-h")) {
    terminal.print(command.help);
    return 0;
  }
  return command.run(rest, terminal);
}

function overview(): string {
  const lines = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(10)}${summary}`);
  return `Usage: toolyard COMMAND [flags]

${lines.join("\n")}

  --version, and --help after any command.`;
}

function toLine(error: unknown): string {
  const expected = error instanceof UsageError || error instanceof CommandError || error instanceof ConfigError;
  if (expected) return error.message;
  if (ToolyardError.is(error)) return `${error.message}. ${error.suggestion}`;
  if (!(error instanceof Error)) return String(error);
  return process.env["TOOLYARD_DEBUG"] === undefined ? error.message : (error.stack ?? error.message);
}
