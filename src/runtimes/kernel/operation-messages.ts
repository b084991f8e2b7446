import type { ErrorName } from "../../core/errors.ts";
import { count, type Fields, fields, flag, nullable, text, wrong } from "./fields.ts";
import { ProtocolViolation } from "./frame.ts";

/**
 * What the host sends of operations; `r` numbers one. `win` lets the other side send so many bytes (more) on it, `fin` says
 * that no more bytes come, `stop` asks for its end, which is answered as any other.
 */
export type OperationRequest =
  | {
      readonly t: "op";
      readonly r: number;
      readonly op: string;
      readonly args: Fields;
      readonly win: number;
    }
  | { readonly t: "win"; readonly r: number; readonly n: number }
  | { readonly t: "fin"; readonly r: number }
  | { readonly t: "stop"; readonly r: number };

/** The errors that a sandbox may end an operation with: an unknown one breaks the protocol. */
const FAILURES = [
  "path_refused",
  "path_not_found",
  "path_exists",
  "path_forbidden",
  "limit_exceeded",
  "cancelled",
  "conflict",
  "invalid_input",
  "unknown_name",
  "execution_error",
] as const satisfies readonly ErrorName[];

/** Why an operation failed, as the sandbox tells it. */
export interface OperationFailure {
  readonly type: (typeof FAILURES)[number];
  readonly message: string;
  readonly limit: string | null;
}

/** What the sandbox side sends of operations; `dial` begins one by itself, with a number of its own range. */
export type OperationFrame =
  | { readonly t: "re"; readonly r: number; readonly ok: true; readonly value: unknown }
  | { readonly t: "re"; readonly r: number; readonly ok: false; readonly error: OperationFailure }
  | { readonly t: "ev"; readonly r: number; readonly value: unknown }
  | { readonly t: "win"; readonly r: number; readonly n: number }
  | { readonly t: "fin"; readonly r: number }
  | { readonly t: "dial"; readonly r: number };

const MAX_MESSAGE_LENGTH = 4096;

/** Checks a decoded message of an operation. @throws ProtocolViolation for one of no known type, too. */
export function parseOperationFrame(message: Fields): OperationFrame {
  switch (message["t"]) {
    case "re":
      return flag(message, "ok")
        ? { t: "re", r: count(message, "r"), ok: true, value: message["value"] ?? null }
        : { t: "re", r: count(message, "r"), ok: false, error: parseFailure(fields(message, "error")) };
    case "ev":
      return { t: "ev", r: count(message, "r"), value: message["value"] ?? null };
    case "win":
      return { t: "win", r: count(message, "r"), n: count(message, "n") };
    case "fin":
      return { t: "fin", r: count(message, "r") };
    case "dial":
      return { t: "dial", r: count(message, "r") };
    default:
      throw new ProtocolViolation("a frame has an unknown type");
  }
}

function parseFailure(error: Fields): OperationFailure {
  const type = FAILURES.find((name) => name === error["type"]);
  const message = text(error, "message");
  if (type === undefined || message.length > MAX_MESSAGE_LENGTH) throw wrong("error");
  return { type, message, limit: nullable(error, "limit", text) };
}
