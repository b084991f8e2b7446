import { Buffer } from "node:buffer";
import { z } from "zod";
import { ToolyardError } from "../../../core/errors.ts";
import { abilityOf } from "./desktop-ability.ts";
import { BROWSER } from "./session-script.ts";
import type { RunningDesktop } from "./provider.ts";

const Argv = z.union([z.string().min(1).max(100_000), z.array(z.string().max(100_000)).min(1).max(1_000)]);
const STEP_MS = 30_000;
const SAID_CHARACTERS = 400;

/** One thing that is done in a desktop before its session begins. */
export const SetupStep = z.discriminatedUnion("do", [
  z.strictObject({
    do: z.literal("run").describe("Runs a command to its end, which must be 0; a text is a shell's."),
    command: Argv,
    timeout_ms: z.int().min(1).max(600_000).default(STEP_MS),
  }),
  z.strictObject({ do: z.literal("launch").describe("Starts a program that lasts."), command: Argv }),
  z.strictObject({
    do: z.literal("file").describe("Writes a file, with the folders above it."),
    path: z.string().min(1).max(4_096),
    text: z.string().max(4_000_000).optional(),
    base64: z.base64().max(6_000_000).optional(),
  }),
  z.strictObject({ do: z.literal("open").describe("Opens a page in the browser."), url: z.url().max(8_192) }),
  z.strictObject({ do: z.literal("wait").describe("Waits."), ms: z.int().min(0).max(60_000) }),
]);
export type SetupStep = z.infer<typeof SetupStep>;

export const SetupSteps = z.array(SetupStep).max(256);

/**
 * Does the steps in their order.
 *
 * @throws ToolyardError `dependency_failed` that names the first step that failed, as `details.step` from 1 on; the signal's reason.
 */
export async function setUp(
  running: RunningDesktop,
  steps: readonly SetupStep[],
  sleep: (ms: number, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (const [index, step] of steps.entries()) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- in their order
      await doStep(running, step, sleep, signal);
    } catch (cause) {
      signal.throwIfAborted();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new ToolyardError(
        "dependency_failed",
        `step ${index + 1} of the desktop's setup (${step.do}) failed: ${reason}`,
        {
          cause,
          details: { step: index + 1, do: step.do },
        },
      );
    }
  }
}

async function doStep(
  running: RunningDesktop,
  step: SetupStep,
  sleep: (ms: number, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  switch (step.do) {
    case "run": {
      const { exitCode, timedOut, stdout, stderr } = await running.exec(
        { command: toArgv(step.command), timeoutMs: step.timeout_ms },
        signal,
      );
      if (exitCode === 0) return;
      const said = (stderr.text || stdout.text).trim().slice(-SAID_CHARACTERS);
      throw new Error(timedOut ? `it took longer than ${step.timeout_ms} ms` : `it ended with ${exitCode}: ${said}`);
    }
    case "launch":
      await abilityOf(running, "spawn").call(running, { command: toArgv(step.command) }, signal);
      return;
    case "file":
      await abilityOf(running, "files").write(step.path, toBytes(step), {}, signal);
      return;
    case "open":
      await abilityOf(running, "spawn").call(running, { command: [BROWSER, step.url] }, signal);
      return;
    case "wait":
      await sleep(step.ms, signal);
      return;
    default:
  }
}

function toArgv(command: string | readonly string[]): readonly string[] {
  return typeof command === "string" ? ["sh", "-c", command] : command;
}

function toBytes({
  text,
  base64,
}: {
  readonly text?: string | undefined;
  readonly base64?: string | undefined;
}): Buffer {
  return base64 === undefined ? Buffer.from(text ?? "") : Buffer.from(base64, "base64");
}
