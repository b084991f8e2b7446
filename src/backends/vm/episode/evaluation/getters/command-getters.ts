import { z } from "zod";
import { ToolyardError } from "../../../../../core/errors.ts";
import { defineGetter, json, type World } from "./getter.ts";

const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
const Command = {
  command: z
    .union([z.string().min(1), z.array(z.string()).min(1)])
    .describe("A line for a shell, or a program and its arguments."),
  timeout_ms: z.int().min(1).max(600_000).default(60_000),
};
type Command = z.output<z.ZodObject<typeof Command>>;

/** What a command writes to its standard output. */
export const vmCommandLine = defineGetter(Command, async (params, world, signal) =>
  json((await run(params, world, signal)).stdout),
);

/** What a command writes to its standard error. */
export const vmCommandError = defineGetter(Command, async (params, world, signal) =>
  json((await run(params, world, signal)).stderr),
);

/** How a command ends, and all that it writes. */
export const vmCommand = defineGetter(Command, async (params, world, signal) => json(await run(params, world, signal)));

async function run({ command, timeout_ms: timeoutMs }: Command, { running }: World, signal: AbortSignal) {
  const argv = typeof command === "string" ? ["sh", "-c", command] : command;
  const done = await running.exec({ command: argv, timeoutMs, outputBytes: MAX_OUTPUT_BYTES }, signal);
  const { exitCode, timedOut, stdout, stderr } = done;
  if (timedOut) {
    throw new ToolyardError("timeout", `the evaluator's command did not end within ${timeoutMs} ms`, {
      details: { limit: "timeout_ms", max: timeoutMs },
    });
  }
  if (stdout.truncated || stderr.truncated) {
    throw new ToolyardError("limit_exceeded", "the evaluator's command writes more than can be compared", {
      details: { limit: "evaluation_output_bytes", max: MAX_OUTPUT_BYTES },
    });
  }
  return { exit_code: exitCode, stdout: stdout.text, stderr: stderr.text };
}
