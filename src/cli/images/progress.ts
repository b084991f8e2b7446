import { createInterface } from "node:readline";
import { stripVTControlCharacters } from "node:util";

/** What the engine says while it builds, pulls or imports. */
export type EngineEvent =
  | { readonly kind: "step"; readonly index: number; readonly total: number; readonly instruction: string }
  | { readonly kind: "output"; readonly text: string }
  /** The work is done, and this is the image. */
  | { readonly kind: "image"; readonly id: string }
  | { readonly kind: "failure"; readonly message: string };

const STEP = /^Step (\d+)\/(\d+) : (.*)$/s;
/** The classic builder's own remarks: which container it runs, which it removed. */
const REMARK = /^(?: ---> |Removing intermediate container )/;
/** Of a layer on its way, of which there are hundreds. */
const TRANSFER = /^(?:Downloading|Extracting|Waiting|Verifying Checksum|Pulling fs layer)$/;

/** Reads one line of the engine's answer; `null` where it tells nothing that anyone would read. */
export function parseEngineLine(line: string): EngineEvent | null {
  if (line.trim() === "") return null;
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    return { kind: "output", text: toPlainText(line) };
  }
  if (typeof message !== "object" || message === null) return { kind: "output", text: toPlainText(line) };
  if ("error" in message) return { kind: "failure", message: toPlainText(String(message.error)) };
  if ("aux" in message) {
    const { aux } = message;
    const found = typeof aux === "object" && aux !== null && "ID" in aux && typeof aux.ID === "string";
    return found ? { kind: "image", id: String(aux.ID) } : null;
  }
  if ("stream" in message) return toStreamEvent(String(message.stream));
  return "status" in message ? toStatusEvent(message) : null;
}

function toStreamEvent(stream: string): EngineEvent | null {
  const text = toPlainText(stream);
  const [, index, total, instruction] = STEP.exec(text) ?? [];
  if (instruction !== undefined) {
    return { kind: "step", index: Number(index), total: Number(total), instruction: instruction.replace(/\s+/g, " ") };
  }
  return text === "" || REMARK.test(stream) ? null : { kind: "output", text };
}

function toStatusEvent(message: { readonly status: unknown; readonly id?: unknown }): EngineEvent | null {
  const status = toPlainText(String(message.status));
  if (status === "" || TRANSFER.test(status)) return null;
  return { kind: "output", text: typeof message.id === "string" ? `${toPlainText(message.id)}: ${status}` : status };
}

/** What a build prints may hold escape sequences, which are not passed on to the user's terminal. */
export function toPlainText(text: string): string {
  return (
    stripVTControlCharacters(text)
      .split("\n")
      .map(lastWriting)
      .join("\n")
      // oxlint-disable-next-line no-control-regex
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")
      .trim()
  );
}

/** A carriage return starts a line anew, and what stood there before is gone from a terminal too. */
function lastWriting(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === "\r") end--;
  return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
}

/** Reads the engine's answer to its end, one JSON object a line. */
export async function* readEngineEvents(answer: NodeJS.ReadableStream): AsyncGenerator<EngineEvent> {
  for await (const line of createInterface({ input: answer, crlfDelay: Number.POSITIVE_INFINITY })) {
    const event = parseEngineLine(line);
    if (event !== null) yield event;
  }
}
