import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import WebBackend from "../../../src/backends/web/backend.ts";
import type { Clock } from "../../../src/core/clock.ts";
import { createOutbound, type OutboundNetwork } from "../../../src/egress/outbound.ts";
import { createChatModel } from "../../../src/llm/openai-chat.ts";

/** A request as a double got it. */
export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly query: Readonly<Record<string, string>>;
  // What was sent is what the test looks at.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

/** What a double answers: JSON, or whatever it writes itself. */
export type Answer = (request: Recorded, response: ServerResponse) => unknown;

/** A local HTTP server that records what it is asked; what `answer` returns is sent as JSON, unless it wrote an answer itself. */
export async function openDouble(answer: Answer) {
  const requests: Recorded[] = [];
  let closed = 0;
  const server = createServer(async (incoming, response) => {
    incoming.socket.on("error", () => undefined);
    response.on("close", () => {
      if (!response.writableFinished) closed += 1;
    });
    let text = "";
    for await (const part of incoming) text += String(part);
    const url = new URL(incoming.url ?? "/", "http://double");
    const request: Recorded = {
      method: incoming.method ?? "",
      path: url.pathname,
      headers: incoming.headers,
      query: Object.fromEntries(url.searchParams),
      body: text === "" ? null : parse(text),
    };
    requests.push(request);
    const value = await answer(request, response);
    if (value === undefined || response.headersSent) return;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  // A listening server of this kind has an address with a port.
  const { port } = server.address() as AddressInfo;
  return { requests, port, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}`, brokenOff: () => closed };
}

/** A double of a site: pages by path; a string is HTML. */
export async function openSite(
  pages: Readonly<Record<string, string | ((response: ServerResponse, request: Recorded) => unknown)>>,
) {
  return openDouble(({ path, ...request }, response) => {
    const page = pages[path];
    if (typeof page === "function") return page(response, { path, ...request });
    response.writeHead(page === undefined ? 404 : 200, { "content-type": "text/html; charset=utf-8" });
    response.end(page ?? "<h1>Not here</h1>");
    return undefined;
  });
}

export interface WebSetup {
  readonly config: object;
  readonly clock?: Clock;
  readonly network?: OutboundNetwork;
}

/** The backend with its real ports, over a network that a test may stand for. */
export function openWeb({ config, clock, network }: WebSetup): WebBackend {
  const setup = {
    config: { ...config },
    openOutbound: (rules: Parameters<typeof createOutbound>[0]) => createOutbound(rules, network),
    openChatModel: createChatModel,
  };
  return clock === undefined ? new WebBackend(setup) : new WebBackend(setup, clock);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
