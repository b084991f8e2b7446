import { ToolyardError } from "../../../core/errors.ts";
import { agentOf } from "../desktop-agent/agent-port.ts";
import { pasteText } from "./clipboard-rows.ts";
import type { Operator } from "./operator.ts";
import { needsMoreKeysThanThereAre } from "./type-text.ts";

const ASK_MS = 3_000;

/** How a text gets to where the focus is. */
export interface TypeOptions {
  readonly method: "auto" | "keys" | "clipboard";
  /** Between characters; only of keys. */
  readonly delayMs: number;
}

/** Types a text or pastes it. Throws as `Typist.type` and {@link pasteText} do. */
export async function typeText(
  text: string,
  { method, delayMs }: TypeOptions,
  operator: Operator,
  signal: AbortSignal,
): Promise<void> {
  if (method === "clipboard") return pasteText(text, { pressControls: false }, operator, signal);
  const plain = text.replace(/\r\n?/g, "\n");
  const hasAgent = operator.driver.agent !== undefined;
  if (method === "auto" && delayMs === 0 && hasAgent && needsMoreKeysThanThereAre(plain)) {
    if (await isPasted(plain, operator, signal)) return;
  }
  await operator.typist.type(text, delayMs, signal);
  await operator.flush(signal);
}

/** Not, where nothing took any of it: then it can still be typed. */
async function isPasted(text: string, operator: Operator, signal: AbortSignal): Promise<boolean> {
  try {
    // An agent that is not there has pasted nothing; one that dies later may have.
    await agentOf(operator.driver).ask("active_window", {}, { timeoutMs: ASK_MS, signal });
  } catch {
    signal.throwIfAborted();
    return false;
  }
  try {
    await pasteText(text, { pressControls: true }, operator, signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (!ToolyardError.is(error)) throw error;
    if (error.error === "business_failure" && error.details?.["pasted"] === 0) return false;
    throw error;
  }
}
