import { ToolyardError } from "../../../core/errors.ts";
import { pasteText, typedTo } from "./clipboard-rows.ts";
import type { Operator } from "./operator.ts";
import { countOutsideLayout, MAX_SPARE_KEYS } from "./type-text.ts";

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
  if (method === "auto" && delayMs === 0 && (await isPasted(plain, operator, signal))) return;
  await operator.typist.type(text, delayMs, signal);
  await operator.flush(signal);
}

/**
 * Pastes what keys would not type at once. A character outside the layout is a key that is added to the keymap, of which browsers learn
 * too late; terminals do not, and have no use for a paste until there are more than there are keys.
 */
async function isPasted(text: string, operator: Operator, signal: AbortSignal): Promise<boolean> {
  const outside = countOutsideLayout(text);
  if (outside === 0 || operator.driver.agent === undefined) return false;
  try {
    // An agent that is not there has pasted nothing; one that dies later may have.
    const target = await typedTo(operator, signal);
    if (target === null || (target === "terminal" && outside <= MAX_SPARE_KEYS)) return false;
  } catch {
    signal.throwIfAborted();
    return false;
  }
  try {
    await pasteText(text, { pressControls: true }, operator, signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    // Where nothing took any of it, it can still be typed.
    if (ToolyardError.is(error) && error.details?.["pasted"] === 0) return false;
    throw error;
  }
}
