/** How a call ended: `tool_error` counts for the model, `infra_error` is the server's own failure, `rejected` is the caller's mistake. */
export type Outcome = "ok" | "tool_error" | "limit" | "infra_error" | "rejected";

interface ErrorRow {
  /** The numeric code of the wire protocol. */
  readonly code: number;
  readonly status: number;
  readonly outcome: Exclude<Outcome, "ok">;
  /** Whether the same request may succeed if it is sent again. */
  readonly retryable: boolean;
  /** What the caller should do next. */
  readonly suggestion: string;
}

const row = (
  code: number,
  status: number,
  outcome: ErrorRow["outcome"],
  retryable: boolean,
  suggestion: string,
): ErrorRow => ({ code, status, outcome, retryable, suggestion });

/** The one table of errors: wire code, HTTP status, outcome and retry advice, by name. */
export const ERRORS = {
  invalid_input: row(4000, 400, "rejected", false, "Correct the value that the message names."),
  business_failure: row(4001, 400, "tool_error", false, "Read the message; other params may work."),
  invalid_request: row(4002, 400, "rejected", false, "Send the JSON object that /openapi.json describes."),
  unprocessable: row(4002, 422, "rejected", false, "Send the JSON object that /openapi.json describes."),
  tool_not_found: row(4002, 400, "rejected", false, "List the tools with GET /api/v1/tools."),
  tool_ambiguous: row(4002, 400, "rejected", false, "Use one of the full names in data.candidates."),
  unknown_name: row(4002, 404, "rejected", false, "Check the name; GET /api/v1/tools lists the tools."),
  unknown_cursor: row(4002, 404, "rejected", false, "Start without a cursor, or from 0 for all that is held."),
  missing_field: row(4003, 400, "rejected", false, "Add the field that the message names."),
  invalid_type: row(4004, 400, "rejected", false, "Send the type that the tool's schema asks for."),
  invalid_url: row(4005, 400, "rejected", false, "Send an absolute http or https URL."),
  no_results: row(4006, 400, "tool_error", false, "Try another query."),
  session_init_failed: row(
    4007,
    400,
    "infra_error",
    true,
    "Try again; if it persists, read the server's log for this trace_id.",
  ),
  session_not_found: row(
    4007,
    404,
    "rejected",
    false,
    "Create the session first, or omit session_id for a temporary one.",
  ),
  session_expired: row(4007, 404, "rejected", false, "Create a new session; a heartbeat keeps an idle one alive."),
  session_lost: row(4009, 410, "infra_error", false, "The session's state is gone; create a new session."),
  unauthenticated: row(4010, 401, "rejected", false, "Send an API key."),
  forbidden: row(4030, 403, "rejected", false, "Ask for access, or name the host or origin in the server's config."),
  route_not_found: row(4040, 404, "rejected", false, "GET /openapi.json lists the paths."),
  path_refused: row(4041, 400, "rejected", false, "Use a path inside the sandbox, of the kind that the tool works on."),
  path_not_found: row(
    4042,
    404,
    "tool_error",
    false,
    "List the folder above it; relative paths start at the working folder.",
  ),
  path_exists: row(4043, 409, "tool_error", false, "Choose another path, or ask for it to be overwritten."),
  path_forbidden: row(
    4044,
    403,
    "tool_error",
    false,
    "The sandbox's user may not touch it; work under the working folder.",
  ),
  stale_ref: row(4045, 404, "tool_error", false, "It is gone from the screen: look for it again."),
  control_taken: row(4091, 409, "rejected", true, "A human has control; try again when it is released."),
  address_refused: row(
    4032,
    403,
    "rejected",
    false,
    "Only public addresses, and those the config allows, may be reached.",
  ),
  method_not_allowed: row(4050, 405, "rejected", false, "Use the method that /openapi.json gives for this path."),
  cursor_expired: row(4100, 410, "rejected", false, "Start from 0, which names what is missing, or without a cursor."),
  request_timeout: row(4080, 408, "rejected", true, "Send the whole request faster."),
  conflict: row(4090, 409, "rejected", false, "Use a new key for another request."),
  payload_too_large: row(4130, 413, "rejected", false, "Send less, or raise the limit that the message names."),
  overloaded: row(4290, 429, "rejected", true, "Send it again after Retry-After."),
  rate_limited: row(4291, 429, "rejected", true, "Ask less often; send it again after Retry-After."),
  cancelled: row(4990, 499, "rejected", true, "Nothing to do: the caller cancelled the call."),
  execution_error: row(5000, 500, "tool_error", false, "Read the message; the tool could not do it."),
  api_key_missing: row(
    5002,
    500,
    "infra_error",
    false,
    "Set the API key that the message names in the server's config.",
  ),
  upstream_failed: row(5003, 500, "infra_error", true, "Try again later."),
  upstream_unreadable: row(5004, 500, "infra_error", true, "Try again later."),
  unexpected_error: row(5005, 500, "tool_error", false, "Look for the trace_id in the server's log."),
  timeout: row(5006, 500, "limit", false, "Ask for less work, or allow more time with timeout_ms."),
  all_failed: row(5009, 500, "tool_error", false, "Read the error of each item."),
  partial_failure: row(5010, 207, "tool_error", false, "Read the error of each failed item."),
  backend_unavailable: row(5011, 500, "infra_error", true, "GET /ready says which backend is down, and why."),
  dependency_failed: row(5012, 500, "infra_error", true, "GET /ready says which dependency is down, and why."),
  internal_error: row(5013, 500, "infra_error", false, "Look for the trace_id in the server's log."),
  result_invalid: row(
    5013,
    500,
    "infra_error",
    false,
    "Report it to the tool's author: its result is not JSON or breaks its schema.",
  ),
  limit_exceeded: row(5014, 500, "limit", false, "Ask for less, or raise the limit that data.limit names."),
  sandbox_dead: row(5020, 500, "infra_error", false, "The sandbox is gone; create a new session."),
  runtime_unavailable: row(
    5030,
    503,
    "infra_error",
    false,
    "Run `toolyard doctor`: it says what is missing and how to get it.",
  ),
  shutting_down: row(5031, 503, "infra_error", true, "The server is stopping; send it to the next one."),
  unknown_outcome: row(5032, 500, "infra_error", false, "The call may have run; look before you repeat it."),
} as const satisfies Record<string, ErrorRow>;

/** The name of an error in {@link ERRORS}, sent as `meta.error`. */
export type ErrorName = keyof typeof ERRORS;

/** Facts beside an error's message. */
export interface ErrorOptions {
  /** JSON facts for the caller, sent as the envelope's `data`. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Overrides the table's advice. */
  readonly suggestion?: string;
  /** Overrides the table's `retryable`. */
  readonly retryable?: boolean;
  /** Overrides the table's outcome, where the error wraps another one's. */
  readonly outcome?: Exclude<Outcome, "ok">;
  /** Overrides the table's status where the wire asks for another one. */
  readonly status?: number;
  /** Kept for the server's log, never sent. */
  readonly cause?: unknown;
}

const MARK = Symbol.for("toolyard.error");

/**
 * The one error whose name, message and details reach the caller; any other throwable is masked.
 *
 * Recognise it with {@link ToolyardError.is}, which also works across duplicated copies of the package.
 */
export class ToolyardError extends Error {
  override readonly name: string = "ToolyardError";
  readonly [MARK] = true;
  readonly error: ErrorName;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly suggestion: string;
  readonly retryable: boolean;
  readonly status: number;
  readonly outcome: Exclude<Outcome, "ok">;

  constructor(error: ErrorName, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    const defaults = ERRORS[error];
    this.error = error;
    this.details = options.details;
    this.suggestion = options.suggestion ?? defaults.suggestion;
    this.retryable = options.retryable ?? defaults.retryable;
    this.status = options.status ?? defaults.status;
    this.outcome = options.outcome ?? defaults.outcome;
  }

  get code(): number {
    return ERRORS[this.error].code;
  }

  static is(value: unknown): value is ToolyardError {
    return typeof value === "object" && value !== null && MARK in value;
  }
}

/** Shortens any throwable to a line for a log; never for the wire. */
export function describeError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
