import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { ToolyardError } from "../../core/errors.ts";
import { refusal } from "../refusal.ts";

/** Answers a connection that is not to become another one, as HTTP, and ends it. */
export function refuseSocket(socket: Duplex, error: ToolyardError): void {
  if (socket.destroyed || !socket.writable) return;
  const { status, body, headers = {} } = refusal("http", error);
  const text = JSON.stringify(body);
  const lines = Object.entries({
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(text)),
    connection: "close",
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Error"}\r\n${lines.join("\r\n")}\r\n\r\n${text}`);
  socket.once("finish", () => socket.destroy());
}
