import type { Answer } from "../client/transport.ts";
import { ConnectionError } from "../client/errors/connection-error.ts";
import { CommandError, type Terminal } from "./command.ts";

/** The flags of every command that talks to a server. */
export const SERVER_FLAGS = {
  url: { type: "string" },
  "api-key": { type: "string" },
  json: { type: "boolean" },
} as const;

/** What `--help` says of them. */
export const SERVER_FLAGS_HELP = `  --url U       the server (TOOLYARD_URL, or http://127.0.0.1:18890)
  --api-key K   who you are (TOOLYARD_API_KEY, which other users of the machine do not see)
  --json        print the server's answer as it is`;

const DEFAULT_URL = "http://127.0.0.1:18890";
const TIMEOUT_MS = 30_000;

/** What to ask a server. */
export interface Question {
  readonly url: string | undefined;
  /** By default the environment's TOOLYARD_API_KEY. */
  readonly apiKey?: string | undefined;
  readonly path: string;
  /** Sent by POST; without one, GET. */
  readonly body?: object;
  /** Milliseconds to wait; `false` for as long as it takes. 30 s by default. */
  readonly timeoutMs?: number | false;
  readonly terminal: Terminal;
}

/**
 * Asks a running server once.
 *
 * @throws CommandError that says how to start one when none answers
 */
export async function askServer({
  url,
  apiKey: given,
  path,
  body,
  timeoutMs = TIMEOUT_MS,
  terminal,
}: Question): Promise<Answer> {
  // What keys are worked on in the data folder needs no HTTP.
  const { Transport } = await import("../client/transport.ts");
  const baseUrl = url ?? terminal.environment["TOOLYARD_URL"] ?? DEFAULT_URL;
  const apiKey = given ?? (terminal.environment["TOOLYARD_API_KEY"] || undefined);
  const transport = new Transport({ baseUrl, apiKey, maxRetries: 0, retryDelayMs: 0 });
  try {
    const method = body === undefined ? "GET" : "POST";
    return await transport.exchange({ method, path, timeoutMs, repeatable: false, ...(body && { body }) });
  } catch (error) {
    if (!(error instanceof ConnectionError) || error.failure !== "unreachable") throw error;
    throw new CommandError(`no server answers at ${baseUrl}; start one with "toolyard serve", or name it with --url`);
  }
}

/** Says why a server refused. */
export function toRefusal({ status, body }: Answer): CommandError {
  const message = typeof body === "object" && body !== null && "message" in body ? String(body.message) : "";
  return new CommandError(message === "" ? `the server answered ${status}` : message);
}
