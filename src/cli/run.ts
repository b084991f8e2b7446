import { ConfigError } from "../config/config-error.ts";
import { didYouMean } from "../config/near-name.ts";
import { ToolyardError } from "../core/errors.ts";
import { type Command, CommandError, type Terminal, UsageError } from "./command.ts";
import { doctor } from "./doctor.ts";
import { exec } from "./exec.ts";
import { images } from "./images.ts";
import { init } from "./init.ts";
import { jobs } from "./jobs.ts";
import { keys } from "./keys.ts";
import { rag } from "./rag.ts";
import { serve } from "./serve.ts";
import { sessions } from "./sessions.ts";
import { tools } from "./tools.ts";

const COMMANDS: readonly Command[] = [serve, exec, tools, sessions, jobs, keys, rag, images, doctor, init];

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
    const command = COMMANDS.find(({ name }) => name === rest[0]);
    terminal.print(command?.help ?? overview());
    return 0;
  }
  const command = COMMANDS.find(({ name }) => name === first);
  if (command === undefined) {
    const names = COMMANDS.map(({ name }) => name);
    throw new UsageError(`unknown command ${first}${didYouMean(first, names) || `; there are ${names.join(", ")}`}`);
  }
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
