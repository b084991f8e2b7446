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

/** How long a body that is refused is read on, to no use but that its sender hears why. */
const REFUSED_READ_MS = 5_000;

/**
 * A body above the limit is refused once it is sent: clients such as Python's read no answer before. It is read on without being
 * held, up to as many bytes again as the limit has, and for a moment; what declares to be longer is refused at once.
 */
function readBytes(incoming: IncomingMessage, limits: HttpLimits, share: BodyShare): Promise<Buffer> {
  const { bodyBytes: maximum, requestTimeoutMs } = limits;
  const declared = Number(incoming.headers["content-length"] ?? 0);
  if (declared > 2 * maximum) return Promise.reject(tooLarge(maximum));
  if (incoming.destroyed) return Promise.reject(wentAway());
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    let chunks: Buffer[] | undefined;
    let size = 0;
    let refusal: ToolyardError | undefined;
    const fail = (error: ToolyardError) => {
      cancelTimer();
      refusal = error;
      first = chunks = undefined;
      reject(error);
    };
    let cancelTimer = systemClock.after(requestTimeoutMs, () =>
      fail(new ToolyardError("request_timeout", `The body did not come within ${requestTimeoutMs} ms`)),
    );
    const refuse = (error: ToolyardError) => {
      cancelTimer();
      refusal = error;
      first = chunks = undefined;
      cancelTimer = systemClock.after(Math.min(REFUSED_READ_MS, requestTimeoutMs), () => fail(error));
    };
    const early = declared > maximum ? tooLarge(maximum) : share.expect(declared);
    if (early !== undefined) refuse(early);
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (refusal !== undefined) {
        if (size > 2 * maximum) fail(refusal);
        return;
      }
      const tooMuch = size > maximum ? tooLarge(maximum) : share.add(chunk.length);
      if (tooMuch !== undefined) refuse(tooMuch);
      else if (first === undefined) first = chunk;
      else (chunks ??= [first]).push(chunk);
    });
    incoming.on("end", () => {
      cancelTimer();
      if (refusal !== undefined) reject(refusal);
      else resolve(chunks === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(chunks, size));
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
