import { type IncomingMessage, request as requestHttp, type ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import { ToolyardError } from "../../../core/errors.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { HttpLimits } from "../../http-limits.ts";
import type { PortVisit } from "./port-door.ts";
import { toClientHeaders, toSandboxHeaders } from "./port-headers.ts";
import { openLink, type PortLink, tellVisit } from "./port-link.ts";
import { whenQuiet } from "./quiet-watch.ts";

export interface PortProxyDeps {
  readonly engine: Engine;
  readonly limits: HttpLimits;
}

/**
 * Passes one request on to an exposed port and its answer back, as they come; resolves when that is over.
 *
 * @throws ToolyardError while nothing has been answered yet.
 */
export async function proxyHttp(
  deps: PortProxyDeps,
  visit: PortVisit,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  if (incoming.method === "TRACE" || incoming.method === "CONNECT") {
    throw new ToolyardError("method_not_allowed", `An exposed port takes no ${incoming.method}`);
  }
  const link = await openLink(deps.engine, visit, outgoing);
  const cut = () => outgoing.destroy();
  link.loan.signal.addEventListener("abort", cut);
  const { socket } = incoming;
  const stopWatch = whenQuiet(
    deps.engine.clock,
    deps.limits.portIdleMs,
    () => socket.bytesRead + socket.bytesWritten,
    cut,
  );
  try {
    tellVisit(deps.engine, link, visit, "http");
    const answer = await send(deps, link, visit, incoming);
    writeHead(visit, answer, outgoing);
    await new Promise<void>((resolve) => pipeline(answer, outgoing, () => resolve()));
    // Half a body that nobody reads would hold up the next request on the connection.
    if (!incoming.complete) socket.destroySoon();
  } finally {
    stopWatch();
    link.loan.signal.removeEventListener("abort", cut);
    link.loan.end();
  }
}

/** Sends the request's head and, while the answer is awaited and after, its body. */
function send(
  { limits }: PortProxyDeps,
  { loan, duplex }: PortLink,
  visit: PortVisit,
  incoming: IncomingMessage,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { method = "GET", headers } = incoming;
    const hasBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
    const outward = requestHttp({
      createConnection: () => duplex,
      method,
      path: visit.rest,
      headers: {
        ...toSandboxHeaders(incoming, visit.port, visit.address, visit),
        ...(hasBody && headers["content-length"] === undefined && { "transfer-encoding": "chunked" }),
        connection: "close",
      },
      maxHeaderSize: limits.headerBytes,
      setDefaultHeaders: false,
      signal: loan.signal,
    });
    outward.once("response", resolve);
    outward.once("error", (error) => reject(toUpstreamError(error, visit, loan.signal)));
    outward.once("upgrade", (_answer, socket) => {
      socket.destroy();
      reject(toUpstreamError(new Error("an upgrade that nobody asked for"), visit, loan.signal));
    });
    if (hasBody) pipeline(incoming, outward, () => undefined);
    else outward.end();
  });
}

function writeHead(visit: PortVisit, answer: IncomingMessage, outgoing: ServerResponse): void {
  const headers = toClientHeaders(answer, visit.port, visit.address);
  if (visit.cookie !== undefined) headers.push("set-cookie", visit.cookie);
  try {
    outgoing.writeHead(answer.statusCode ?? 502, headers);
  } catch (error) {
    answer.destroy();
    throw toUpstreamError(error, visit);
  }
}

/** Says that what answers on the port does not speak HTTP, or no longer. */
export function toUpstreamError(
  error: unknown,
  { port }: Pick<PortVisit, "port">,
  signal?: AbortSignal,
): ToolyardError {
  if (signal?.aborted === true && ToolyardError.is(signal.reason)) return signal.reason;
  return new ToolyardError("upstream_failed", `What listens on port ${port} in the sandbox gave no HTTP answer`, {
    status: 502,
    outcome: "tool_error",
    suggestion: "Look into the output of the server in the sandbox.",
    cause: error,
  });
}
