import { ToolyardError } from "../../../core/errors.ts";
import { toToldWindow } from "../desktop-agent/image-box.ts";
import type { ActionOf } from "./action.ts";
import { AGENT_ACTION_SCHEMAS } from "./agent-action-schemas.ts";
import type { Rows } from "./action-row.ts";
import { findElements } from "./element-rows.ts";
import type { Operator } from "./operator.ts";
import { settle } from "./settle.ts";
import { listWindows } from "./window-rows.ts";

const LOOK_AGAIN_MS = 150;
const COMMAND_MS = 30_000;

type Wait = ActionOf<"wait_for">;
type Met = Readonly<Record<string, unknown>>;

/** Waiting for something that can be seen or run. */
export const WAIT_ROWS: Rows<"wait_for"> = {
  wait_for: async (action, operator, signal) => {
    const { driver } = operator;
    const startedAt = driver.now();
    const left = () => action.timeout_ms - (driver.now() - startedAt);
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one look after another
      const met = await look(action, left(), operator, signal);
      if (met !== undefined) return { told: { met: true, waited_ms: Math.round(driver.now() - startedAt), ...met } };
      if (left() <= 0) throw notMet(action);
      // oxlint-disable-next-line no-await-in-loop -- until the next look
      await driver.sleep(Math.min(LOOK_AGAIN_MS, Math.max(1, left())), signal);
    }
  },
};

async function look(action: Wait, leftMs: number, operator: Operator, signal: AbortSignal): Promise<Met | undefined> {
  if (action.stable_screen !== undefined) {
    const { quiet_ms: quietMs } = action.stable_screen;
    return (await settle(operator.driver, { quietMs, maxMs: leftMs }, signal)) ? {} : undefined;
  }
  if (action.window !== undefined) return lookForWindow(action.window, operator, signal);
  if (action.element !== undefined) return lookForElement(action.element, leftMs, operator, signal);
  return runCommand(action.command ?? "", leftMs, operator, signal);
}

async function lookForWindow(
  { title = "", class: kind = "", exists }: NonNullable<Wait["window"]>,
  operator: Operator,
  signal: AbortSignal,
): Promise<Met | undefined> {
  const has = (text: string, part: string) => text.toLowerCase().includes(part.toLowerCase());
  const windows = await listWindows(operator, signal);
  const found = windows.findLast(
    (window) => has(window.title, title) && (kind === "" || window.class.some((name) => has(name, kind))),
  );
  if (!exists) return found === undefined ? {} : undefined;
  return found && { window: toToldWindow(found, operator.view) };
}

async function lookForElement(
  { exists, ...wanted }: NonNullable<Wait["element"]>,
  leftMs: number,
  operator: Operator,
  signal: AbortSignal,
): Promise<Met | undefined> {
  const deadlineMs = Math.min(5_000, Math.max(100, Math.ceil(leftMs)));
  const action = AGENT_ACTION_SCHEMAS.find_element.parse({
    action: "find_element",
    ...wanted,
    limit: 1,
    deadline_ms: deadlineMs,
  });
  const { elements, truncated } = await findElements(action, operator, signal);
  const [element] = elements;
  // What has not been looked through may hold it.
  if (!exists) return element === undefined && truncated === null ? {} : undefined;
  return element && { element };
}

async function runCommand(
  command: NonNullable<Wait["command"]>,
  leftMs: number,
  { driver }: Operator,
  signal: AbortSignal,
): Promise<Met | undefined> {
  if (driver.run === undefined) {
    throw new ToolyardError("runtime_unavailable", "this desktop cannot run commands");
  }
  const argv = typeof command === "string" ? ["sh", "-c", command] : command;
  const timeoutMs = Math.min(COMMAND_MS, Math.max(1, Math.ceil(leftMs)));
  const { exitCode, stdout } = await driver.run({ command: argv, timeoutMs, outputBytes: 16_384 }, signal);
  return exitCode === 0 ? { stdout: stdout.text } : undefined;
}

function notMet({ action: _action, timeout_ms: timeoutMs, ...condition }: Wait): ToolyardError {
  const [name] = Object.keys(condition);
  return new ToolyardError("timeout", `the condition ${name} was not met within ${timeoutMs} ms`, {
    details: { met: false, ...condition },
    suggestion: "Look at the screen; wait longer with timeout_ms if it is only slow.",
  });
}
