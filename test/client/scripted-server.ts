import * as http from "node:http";
import type { AddressInfo } from "node:net";

/** What the server was sent. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

/** Answers one request; `index` counts from 0 over all of them. */
export type Script = (response: http.ServerResponse, seen: Seen, index: number) => void;

/** A server that does what a test tells it to, rude things included. */
export interface ScriptedServer extends AsyncDisposable {
  readonly url: string;
  readonly seen: Seen[];
  /** How many connections were opened. */
  readonly connections: () => number;
}

export async function startScriptedServer(script: Script, port = 0): Promise<ScriptedServer> {
  const seen: Seen[] = [];
  let connections = 0;
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const one = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        body: text === "" ? {} : JSON.parse(text),
      };
      seen.push(one);
      script(response, one, seen.length - 1);
    });
  });
  // As the product has it: longer than a client keeps a connection, so that none is used at the moment of its end.
  server.keepAliveTimeout = 75_000;
  server.on("connection", () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  // A server that listens on a port has an address with one.
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}`,
    seen,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function sendJson(
  response: http.ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

export function envelope(data: unknown, meta: Record<string, unknown> = {}) {
  const base = {
    tool: "echo",
    execution_time_ms: 1,
    resource_type: null,
    session_id: null,
    trace_id: "t-1",
    outcome: "ok",
  };
  return { code: 0, message: "success", data, meta: { ...base, ...meta } };
}

export function failure(code: number, message: string, meta: Record<string, unknown> = {}, data: unknown = null) {
  return { ...envelope(data, { outcome: "rejected", retryable: false, ...meta }), code, message };
}
