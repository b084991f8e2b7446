import { ToolyardError } from "../../core/errors.ts";

/**
 * How a call to the engine failed: it was not there, it did not answer in time, it answered with an error, or it is none that
 * could serve.
 */
export type EngineFailureKind = "unreachable" | "timeout" | "answered" | "unusable";

/** A call to the Docker Engine that failed; its message may name paths and is for the log. */
export class EngineFailure extends Error {
  override readonly name = "EngineFailure";
  readonly kind: EngineFailureKind;
  /** The HTTP status of an answer. */
  readonly status: number | undefined;

  constructor(kind: EngineFailureKind, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.status = options.status;
  }
}

/** Whether the engine said that what was asked for is not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof EngineFailure && error.status === 404;
}

/** Whether the engine said that what was asked for contradicts the state of things, or is under way already. */
export function isConflict(error: unknown): boolean {
  return error instanceof EngineFailure && error.status === 409;
}

/** Names what dockerode or Node threw; `what` says which call it was. */
export function toEngineFailure(what: string, error: unknown): EngineFailure {
  if (error instanceof EngineFailure) return error;
  const message = error instanceof Error ? error.message.trim() : String(error);
  const status = readNumber(error, "statusCode");
  if (status !== undefined) return new EngineFailure("answered", `${what}: ${message}`, { status, cause: error });
  return new EngineFailure("unreachable", `${what}: ${message}`, { cause: error });
}

const REMEDY = "Start the Docker Engine, and let the server's user use its socket (group docker).";

/** What a caller is told of an engine that cannot be used. */
export function toUnavailable(failure: EngineFailure): ToolyardError {
  return new ToolyardError("runtime_unavailable", `the docker runtime cannot be used: ${describeFailure(failure)}`, {
    suggestion: failure.kind === "answered" ? "The server's log has the engine's own words." : REMEDY,
    retryable: failure.kind !== "answered",
    cause: failure,
  });
}

/** One line that callers may see. */
export function describeFailure({ kind, status, cause, message }: EngineFailure): string {
  if (kind === "unusable") return message;
  if (kind === "timeout") return "the Docker Engine does not answer";
  if (kind === "answered") return `the Docker Engine refused (status ${status})`;
  switch (readText(cause, "code")) {
    case "EACCES":
    case "EPERM":
      return "the server may not use the Docker Engine's socket";
    case "ENOENT":
      return "no Docker Engine is there";
    default:
      return "the Docker Engine cannot be reached";
  }
}

/** How to get an engine. */
export const ENGINE_REMEDY = REMEDY;

function readNumber(value: unknown, key: string): number | undefined {
  const found = readField(value, key);
  return typeof found === "number" ? found : undefined;
}

function readText(value: unknown, key: string): string | undefined {
  const found = readField(value, key);
  return typeof found === "string" ? found : undefined;
}

function readField(value: unknown, key: string): unknown {
  // A boundary: errors of dockerode carry fields that no type tells of.
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
