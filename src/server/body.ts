import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { systemClock } from "../core/clock.ts";
import { ToolyardError } from "../core/errors.ts";
import type { BodyShare } from "./body-budget.ts";
import type { HttpLimits } from "./http-limits.ts";

/**
 * Reads a request's body as JSON, whatever content type it claims; an empty body is an empty object. Its bytes count in
 * the `share`, which ends with the request's answer.
 *
 * @throws ToolyardError payload_too_large, invalid_request; overloaded when all bodies together are too large.
 */
export async function readJson(incoming: IncomingMessage, limits: HttpLimits, share: BodyShare): Promise<unknown> {
  const bytes = await readBytes(incoming, limits, share);
  return bytes.length === 0 ? {} : parseJson(bytes, limits.bodyDepth);
}

function readBytes(incoming: IncomingMessage, limits: HttpLimits, share: BodyShare): Promise<Buffer> {
  const { bodyBytes: maximum, requestTimeoutMs } = limits;
  const declared = Number(incoming.headers["content-length"] ?? 0);
  if (declared > maximum) return Promise.reject(tooLarge(maximum));
  const full = share.expect(declared);
  if (full !== undefined) return Promise.reject(full);
  if (incoming.destroyed) return Promise.reject(wentAway());
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    let chunks: Buffer[] | undefined;
    let size = 0;
    let refused = false;
    const cancelTimer = systemClock.after(requestTimeoutMs, () => {
      refused = true;
      first = chunks = undefined;
      reject(new ToolyardError("request_timeout", `The body did not come within ${requestTimeoutMs} ms`));
    });
    incoming.on("data", (chunk: Buffer) => {
      if (refused) return;
      size += chunk.length;
      const refusal = size > maximum ? tooLarge(maximum) : share.add(chunk.length);
      if (refusal !== undefined) {
        refused = true;
        first = chunks = undefined;
        reject(refusal);
      } else if (first === undefined) first = chunk;
      else (chunks ??= [first]).push(chunk);
    });
    incoming.on("end", () => {
      cancelTimer();
      resolve(chunks === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(chunks, size));
    });
    const onGone = (cause?: Error) => {
      cancelTimer();
      if (incoming.complete) return;
      reject(wentAway(cause));
    };
    incoming.on("error", onGone);
    incoming.on("close", onGone);
  });
}

function wentAway(cause?: Error): ToolyardError {
  return new ToolyardError("cancelled", "The client went away before its request was whole", { cause });
}

function tooLarge(maximum: number): ToolyardError {
  return new ToolyardError("payload_too_large", `The body is larger than limits.body_bytes, ${maximum} bytes`, {
    details: { limit: "body_bytes", maximum },
  });
}

/**
 * Parses JSON that a stranger wrote.
 *
 * @throws ToolyardError invalid_request for what is not UTF-8 or JSON, nests deeper than `maxDepth` or has a `__proto__` key.
 */
export function parseJson(bytes: Buffer, maxDepth: number): unknown {
  if (bytes.length > maxDepth && nestsDeeperThan(bytes, maxDepth)) {
    throw new ToolyardError("invalid_request", `The body is nested deeper than ${maxDepth}`, {
      details: { limit: "body_depth", maximum: maxDepth },
    });
  }
  if (!isUtf8(bytes)) throw new ToolyardError("invalid_request", "The body is not UTF-8");
  const text = bytes.toString("utf8");
  try {
    return text.includes("__proto__") || text.includes("\\u") ? JSON.parse(text, refuseProto) : JSON.parse(text);
  } catch (error) {
    if (ToolyardError.is(error)) throw error;
    throw new ToolyardError("invalid_request", `The body is not JSON: ${describeSyntax(error)}`);
  }
}

/** V8's message quotes the text around the fault; a position or one character is enough, and holds no secrets. */
function describeSyntax(error: unknown): string {
  const message = String(error);
  if (/end of JSON input|Unterminated/.test(message)) return "it ends too early";
  const fault = /(?:at position \d+)|(?:Unexpected token '.)/s.exec(message)?.[0];
  if (fault === undefined) return "its syntax is wrong";
  return fault.startsWith("at") ? `the fault is ${fault}` : `unexpected '${fault.slice(-1)}'`;
}

function refuseProto(key: string, value: unknown): unknown {
  if (key === "__proto__") throw new ToolyardError("invalid_request", 'A key may not be "__proto__"');
  return value;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function nestsDeeperThan(bytes: Buffer, maxDepth: number): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (inString) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === 0x5b || byte === 0x7b) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (byte === 0x5d || byte === 0x7d) depth -= 1;
  }
  return false;
}
