import type { TerminalFacts } from "../core/terminal-schemas.ts";
import { expectData, expectEnvelope } from "./expect-answer.ts";
import { askSandbox } from "./session-door.ts";
import type { FindSession } from "./session-files.ts";
import { QUICK_TIMEOUT_MS } from "./timeouts.ts";
import { transfer } from "./transfer.ts";
import type { Transport } from "./transport.ts";

/** What a terminal is started with. */
export interface TerminalOptions {
  /** A line for a shell, or a program with its arguments. @default an interactive shell */
  readonly command?: string | readonly string[] | undefined;
  /** @default 80 */
  readonly columns?: number | undefined;
  /** @default 24 */
  readonly rows?: number | undefined;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** A terminal's recording that is kept; times are ISO 8601. */
export interface TerminalRecording {
  readonly id: string;
  readonly session_id: string;
  readonly worker_id: string;
  readonly resource_type: string;
  readonly terminal_id: string;
  readonly started_at: string;
  readonly size_bytes: number;
  /** Whether its terminal still writes to it. */
  readonly running: boolean;
}

const RECORDINGS = "/api/v1/recordings/terminals";

/** The terminals of a session's sandbox, from outside its tools, and their recordings. */
export class SessionTerminals {
  readonly #find: FindSession;

  constructor(find: FindSession) {
    this.#find = find;
  }

  async start(options: TerminalOptions = {}): Promise<TerminalFacts> {
    return askSandbox<TerminalFacts>(this.#find, "/terminal/start", { method: "POST", body: options });
  }

  /** Hangs one up, the newest that runs by default; answers how its program ended. */
  async stop(terminalId?: string): Promise<TerminalFacts> {
    const body = { terminal_id: terminalId };
    return askSandbox<TerminalFacts>(this.#find, "/terminal/stop", { method: "POST", body });
  }

  /** Those that run, and those that ended lately; oldest first. */
  async list(): Promise<readonly TerminalFacts[]> {
    const { terminals } = await askSandbox<{ readonly terminals: readonly TerminalFacts[] }>(this.#find, "/terminal", {
      method: "GET",
    });
    return terminals;
  }

  /** Makes a URL at which one viewer that speaks ttyd's protocol watches one, within 30 seconds; and types in `control`. */
  async watch(terminalId?: string, { mode = "view" }: { readonly mode?: "view" | "control" } = {}): Promise<string> {
    const { transport, sessionId } = await this.#find();
    const body = { purpose: `terminal:connect ${sessionId}`, view_only: mode === "view" };
    const { ticket } = await ask<{ readonly ticket: string }>(transport, "POST", "/api/v1/tickets", body);
    const query = new URLSearchParams({
      ticket,
      ...(mode === "view" && { view: "true" }),
      ...(terminalId !== undefined && { terminal: terminalId }),
    });
    const base = transport.baseUrl.replace(/^http/, "ws").replace(/\/$/, "");
    return `${base}/ws/term/${encodeURIComponent(sessionId)}?${query}`;
  }

  /** The session's recordings that the server keeps, newest first. */
  async recordings(): Promise<readonly TerminalRecording[]> {
    const { transport, sessionId } = await this.#find();
    const path = `${RECORDINGS}?session_id=${encodeURIComponent(sessionId)}`;
    return (await ask<{ readonly recordings: readonly TerminalRecording[] }>(transport, "GET", path)).recordings;
  }

  /** Opens a recording: an asciicast of version 2, which its `text()` reads. */
  async download(recordingId: string): Promise<Response> {
    const { transport } = await this.#find();
    return transfer(transport, { method: "GET", path: `${RECORDINGS}/${encodeURIComponent(recordingId)}` });
  }

  /** @throws ServerError `unknown_name` when there is none. */
  async deleteRecording(recordingId: string): Promise<void> {
    const { transport } = await this.#find();
    await ask(transport, "DELETE", `${RECORDINGS}/${encodeURIComponent(recordingId)}`);
  }
}

async function ask<T>(
  transport: Transport,
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: object,
): Promise<T> {
  const exchange = { method, path, timeoutMs: QUICK_TIMEOUT_MS, repeatable: true, ...(body !== undefined && { body }) };
  return expectData<T>(expectEnvelope(await transport.exchange(exchange), method));
}
