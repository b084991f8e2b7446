import { type IncomingMessage, request as requestHttp } from "node:http";
import { type Duplex, pipeline } from "node:stream";
import { emitFor } from "../../../engine/record-events.ts";
import type { PortVisit } from "./port-door.ts";
import { toClientHeaders, toSandboxHeaders } from "./port-headers.ts";
import { type PortProxyDeps, toUpstreamError } from "./port-http.ts";
import { openLink, type PortLink, tellVisit } from "./port-link.ts";
import { whenQuiet } from "./quiet-watch.ts";

/** A connection that asks to become a WebSocket. */
export interface UpgradeRequest {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

type Answered =
  | { readonly kind: "upgraded"; readonly answer: IncomingMessage; readonly inner: Duplex; readonly head: Buffer }
  | { readonly kind: "refused"; readonly answer: IncomingMessage };

/**
 * Ties a client's connection to an exposed port, byte for byte once the sandbox has agreed; resolves when either has gone.
 *
 * @throws ToolyardError while nothing has been answered yet.
 */
export async function proxyWebSocket(deps: PortProxyDeps, visit: PortVisit, upgrade: UpgradeRequest): Promise<void> {
  const { socket } = upgrade;
  const link = await openLink(deps.engine, visit, socket);
  const cut = () => socket.destroy();
  link.loan.signal.addEventListener("abort", cut);
  // From the handshake on, which the sandbox may never answer.
  const { socket: client } = upgrade.incoming;
  const moved = () => client.bytesRead + client.bytesWritten;
  const stopWatch = whenQuiet(deps.engine.clock, deps.limits.portIdleMs, moved, cut);
  try {
    const answered = await ask(deps, link, visit, upgrade);
    const lines = toLines(answered.answer, visit, answered.kind === "upgraded");
    socket.write(lines, "latin1");
    if (answered.kind === "upgraded") await tie(deps, link, visit, upgrade, answered);
    else await new Promise<void>((resolve) => pipeline(answered.answer, socket, () => resolve()));
  } finally {
    stopWatch();
    link.loan.signal.removeEventListener("abort", cut);
    link.loan.end();
  }
}

/** Sends the handshake into the sandbox as it came; which frames follow is between client and sandbox. */
function ask(
  { limits }: PortProxyDeps,
  { loan, duplex }: PortLink,
  visit: PortVisit,
  { incoming }: UpgradeRequest,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const outward = requestHttp({
      createConnection: () => duplex,
      method: "GET",
      path: visit.rest,
      headers: {
        ...toSandboxHeaders(incoming, visit.port, visit.address, visit),
        connection: "Upgrade",
        upgrade: "websocket",
      },
      maxHeaderSize: limits.headerBytes,
      setDefaultHeaders: false,
      signal: loan.signal,
    });
    outward.once("upgrade", (answer, inner, head) => resolve({ kind: "upgraded", answer, inner, head }));
    outward.once("response", (answer) => resolve({ kind: "refused", answer }));
    outward.once("error", (error) => reject(toUpstreamError(error, visit, loan.signal)));
    outward.end();
  });
}

async function tie(
  { engine }: PortProxyDeps,
  link: PortLink,
  visit: PortVisit,
  { socket, head: clientHead }: UpgradeRequest,
  { inner, head }: Extract<Answered, { kind: "upgraded" }>,
): Promise<void> {
  const { port } = visit;
  let bytesIn = clientHead.length;
  let bytesOut = head.length;
  tellVisit(engine, link, visit, "websocket");
  if (clientHead.length > 0) inner.write(clientHead);
  if (head.length > 0) socket.write(head);
  // Counted as they pass; `pipeline` holds either side back when the other is slow.
  socket.on("data", (chunk: Buffer) => (bytesIn += chunk.length));
  inner.on("data", (chunk: Buffer) => (bytesOut += chunk.length));
  const end = () => {
    socket.destroy();
    inner.destroy();
  };
  await Promise.race([pass(socket, inner), pass(inner, socket)]);
  end();
  emitFor(engine, "port.disconnected", link.loan.record, { port, bytes_in: bytesIn, bytes_out: bytesOut }, "human");
}

function pass(from: Duplex, to: Duplex): Promise<void> {
  return new Promise((resolve) => pipeline(from, to, () => resolve()));
}

/** The head of the sandbox's answer, as it goes to the client. */
function toLines(answer: IncomingMessage, visit: PortVisit, upgraded: boolean): string {
  const headers = toClientHeaders(answer, visit.port, visit.address);
  if (upgraded) headers.push("connection", "Upgrade", "upgrade", "websocket");
  else headers.push("connection", "close");
  if (visit.cookie !== undefined) headers.push("set-cookie", visit.cookie);
  let lines = `HTTP/1.1 ${answer.statusCode ?? 502} ${(answer.statusMessage ?? "").replace(/[^\x20-\x7e]/g, "?")}\r\n`;
  for (let at = 0; at < headers.length; at += 2) lines += `${headers[at]}: ${headers[at + 1]}\r\n`;
  return `${lines}\r\n`;
}
