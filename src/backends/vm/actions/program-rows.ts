import { ToolyardError } from "../../../core/errors.ts";
import { agentOf } from "../desktop-agent/agent-port.ts";
import type { Rows } from "./action-row.ts";
import type { Operator } from "./operator.ts";

const TIMEOUT_MS = 10_000;
/** Within it a program that cannot be started at all has ended. */
const START_MS = 300;
const SAID_BYTES = 2_000;
const LAUNCH_OUTPUT_BYTES = 64 * 1024;

/** Programs that are started in the desktop. */
export const PROGRAM_ROWS: Rows<"launch" | "open" | "pyautogui"> = {
  launch: async ({ app, args }, operator, signal) => ({ told: await launch([app, ...args], operator, signal) }),

  open: async ({ target }, operator, signal) => {
    const { command, app } = await agentOf(operator.driver).ask(
      "resolve_open",
      { target },
      { timeoutMs: TIMEOUT_MS, signal },
    );
    return { told: { app, ...(await launch(command, operator, signal)) } };
  },

  pyautogui: async ({ code, timeout_ms: timeoutMs }, operator, signal) => {
    const done = await runPyautogui(code, timeoutMs, operator, signal);
    if (done.exit_code === 0) return { told: { ...done } };
    throw new ToolyardError(done.timed_out ? "timeout" : "execution_error", toReason(done), {
      details: { ...done },
    });
  },
};

/** What code came to. */
export interface CodeDone {
  readonly exit_code: number;
  readonly timed_out: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
}

/** Runs Python in the desktop, points counted as everywhere; what it raises is told and not thrown. */
export async function runPyautogui(
  code: string,
  timeoutMs: number,
  operator: Operator,
  signal: AbortSignal,
): Promise<CodeDone> {
  const { width, height } = operator.view.image;
  const args = { code, screenshot_size: [width, height] };
  const agent = agentOf(operator.driver);
  const { ended_by: endedBy, ...done } = await agent.ask("python", args, { timeoutMs, signal });
  // A display does not tell of a pointer that XTEST moved, and later actions begin where it is.
  operator.hands.moveTo(await agent.ask("pointer", {}, { timeoutMs: TIMEOUT_MS, signal }));
  await operator.flush(signal);
  return { ...done, timed_out: endedBy === "timeout" };
}

/** The last line of a traceback. */
export function toReason({ exit_code: code, timed_out: timedOut, stderr }: CodeDone): string {
  if (timedOut) return "the code was not done in its time";
  const last = stderr.trimEnd().split("\n").at(-1) ?? "";
  return last === "" ? `the code ended with ${code}` : `the code failed: ${last.slice(0, 300)}`;
}

async function launch(command: readonly string[], { driver }: Operator, signal: AbortSignal) {
  if (driver.launch === undefined) {
    throw new ToolyardError("runtime_unavailable", "this desktop cannot start programs that last", {
      suggestion: "Use a vm backend whose provider is docker or local.",
    });
  }
  const process = await driver.launch({ command, outputBytes: LAUNCH_OUTPUT_BYTES }, signal);
  const exited = process.exited.then(
    (exit) => exit,
    () => null,
  );
  const early = await Promise.race([exited, driver.sleep(START_MS, signal).then(() => null)]);
  if (early?.exitCode === 127) {
    throw new ToolyardError("business_failure", `there is no program ${JSON.stringify(command[0]?.slice(0, 200))}`, {
      suggestion: "Name one that the desktop has, or its path.",
    });
  }
  // One that hands over to another that runs already, as browsers do, has ended by now.
  const facts = { pid: process.pid, process_id: process.id, exit_code: early?.exitCode ?? null };
  if (early === null || early.exitCode === 0) return facts;
  const { chunks } = await process.read({ cursor: 0, maxBytes: SAID_BYTES, signal });
  const said = Buffer.concat(chunks.map(({ data }) => data)).toString("utf8");
  throw new ToolyardError(
    "business_failure",
    `the program ${JSON.stringify(command[0]?.slice(0, 200))} ended at once`,
    {
      details: { ...facts, said },
      suggestion: "Read what it said in data.said.",
    },
  );
}
