import { ToolyardError } from "../../../core/errors.ts";
import type { AgentAnswer } from "../desktop-agent/agent-answers.ts";
import { agentOf } from "../desktop-agent/agent-port.ts";
import { toKeysyms } from "../keys/key-combination.ts";
import type { Rows } from "./action-row.ts";
import type { Operator } from "./operator.ts";

const TIMEOUT_MS = 10_000;
/** What a program may take to fetch what is pasted into it. */
const FETCH_MS = 8_000;
/** Programs that ask twice do so at once. */
const AFTERWARDS_MS = 150;
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Terminals take other keys than all others for a paste, and paste what was selected last. */
const TERMINAL = /term|rxvt|konsole|kitty|alacritty|console/i;

/** The clipboard, whose owner the desktop's agent itself is. */
export const CLIPBOARD_ROWS: Rows<"clipboard_get" | "clipboard_set"> = {
  clipboard_get: async ({ type }, operator, signal) => {
    const found = await agentOf(operator.driver).ask("clipboard_get", { type }, { timeoutMs: TIMEOUT_MS, signal });
    if (found.kind === "text") return { told: { type: "text", text: found.text } };
    if (found.kind === "none") return { told: { type: "none" } };
    if (!isPng(found.png)) throw new ToolyardError("business_failure", "the clipboard's image is no PNG");
    return { told: { type: "image", image: found.png } };
  },

  clipboard_set: async ({ text, image }, operator, signal) => {
    if (image !== undefined && !isPng(image)) throw new ToolyardError("invalid_input", "the image is no PNG");
    const content = image === undefined ? { text } : { png: image };
    await agentOf(operator.driver).ask("clipboard_set", content, { timeoutMs: TIMEOUT_MS, signal });
    return { told: { type: image === undefined ? "text" : "image" } };
  },
};

/** How a text is pasted. */
export interface PasteOptions {
  /** Line ends and tabs are pressed between what is pasted, so that they do what the keys do. */
  readonly pressControls: boolean;
}

/**
 * Pastes a text where the focus is; afterwards the clipboard holds what it held. In terminals line ends are always pressed, since a
 * shell does not run what is pasted.
 *
 * @throws ToolyardError `business_failure` when nothing took it; `details.pasted` says how many characters had been by then.
 */
export async function pasteText(
  text: string,
  { pressControls }: PasteOptions,
  operator: Operator,
  signal: AbortSignal,
): Promise<void> {
  if (text === "") return;
  const agent = agentOf(operator.driver);
  const options = { timeoutMs: TIMEOUT_MS, signal };
  const inTerminal = (await typedTo(operator, signal)) === "terminal";
  const before = await agent.ask("clipboard_get", { type: "auto" }, options).catch(unlessAborted(signal));
  let pasted = 0;
  for (const part of pressControls || inTerminal ? text.split(/([\n\t]+)/) : [text]) {
    if (part === "") continue;
    // oxlint-disable-next-line no-await-in-loop -- one part after another
    const isTaken = /^[\n\t]/.test(part)
      ? // oxlint-disable-next-line no-await-in-loop -- one part after another
        await operator.typist.type(part, 0, signal).then(() => true)
      : // oxlint-disable-next-line no-await-in-loop -- one part after another
        await pasteOnce(part, inTerminal, operator, signal);
    if (!isTaken) break;
    pasted += part.length;
  }
  const content = toContent(before);
  if (content !== undefined) await agent.ask("clipboard_set", content, options);
  await operator.flush(signal);
  if (pasted === text.length) return;
  throw new ToolyardError("business_failure", "no program took the text from the clipboard", {
    details: { pasted },
    suggestion: "Focus a field that takes text first, or type it by keys.",
  });
}

/** What is typed to; nothing where no window has the focus. */
export async function typedTo({ driver }: Operator, signal: AbortSignal): Promise<"terminal" | "window" | null> {
  const { window } = await agentOf(driver).ask("active_window", {}, { timeoutMs: TIMEOUT_MS, signal });
  if (window === null) return null;
  return window.class.some((name) => TERMINAL.test(name)) ? "terminal" : "window";
}

/** Answers whether a program took it. */
async function pasteOnce(
  text: string,
  inTerminal: boolean,
  { driver, hands }: Operator,
  signal: AbortSignal,
): Promise<boolean> {
  const agent = agentOf(driver);
  await agent.ask("clipboard_set", { text, primary: inTerminal }, { timeoutMs: TIMEOUT_MS, signal });
  await hands.holding(toKeysyms(inTerminal ? ["shift", "Insert"] : ["ctrl", "v"]), () => {});
  const { served } = await agent.ask("clipboard_served", {}, { timeoutMs: FETCH_MS, signal });
  if (served) await driver.sleep(AFTERWARDS_MS, signal);
  return served;
}

/** What is to be set for the clipboard to hold it again. */
function toContent(before: AgentAnswer<"clipboard_get"> | undefined): Readonly<Record<string, unknown>> | undefined {
  if (before?.kind === "text") return { text: before.text };
  if (before?.kind === "png") return { png: before.png };
  return before === undefined ? undefined : {};
}

/** What cannot be read cannot be put back. */
function unlessAborted(signal: AbortSignal): () => undefined {
  return () => {
    signal.throwIfAborted();
    return undefined;
  };
}

function isPng(base64: string): boolean {
  return Buffer.from(base64.slice(0, 16), "base64").subarray(0, 8).equals(PNG_SIGNATURE);
}
