import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/context.ts";
import type { EgressDoor } from "../core/egress.ts";
import { ToolyardError } from "../core/errors.ts";
import type { AddressPolicy } from "./addresses.ts";
import { MAX_CLIENT_HELLO_BYTES, readOpening } from "./client-hello.ts";
import { connectTo, type Dial, type Lookup } from "./connect.ts";
import type { EgressLimits } from "./egress.ts";
import { forwardedHeaders, PROXY_STATUS } from "./forwarded-headers.ts";
import { type HostList, normalizeHost } from "./host-list.ts";

export interface EgressProxyDeps {
  readonly hosts: HostList;
  readonly addresses: AddressPolicy;
  readonly limits: EgressLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lookup: Lookup | undefined;
  readonly dial: Dial | undefined;
}

interface Target {
  readonly host: string;
  readonly port: number;
}

/** The HTTP proxy of one sandbox. */
export class EgressProxy implements EgressDoor {
  readonly #deps: EgressProxyDeps;
  readonly #server;
  readonly #connections = new Set<Duplex>();
  readonly #closing = new AbortController();

  constructor(deps: EgressProxyDeps) {
    this.#deps = deps;
    this.#server = createServer({ maxHeaderSize: 32 * 1024 });
    this.#server.on("request", (incoming, response) => void this.#forward(incoming, response));
    this.#server.on("connect", (incoming, socket, head) => void this.#tunnel(incoming, socket, head));
    this.#server.on("upgrade", (_incoming, socket) => {
      refuse(socket, 501, "WebSockets and other upgrades go through CONNECT");
    });
    this.#server.on("clientError", (_error, socket) => refuse(socket, 400, "this is not an HTTP proxy request"));
  }

  accept(connection: Duplex): void {
    connection.on("error", () => connection.destroy());
    if (this.#closing.signal.aborted) {
      connection.destroy();
      return;
    }
    if (this.#connections.size >= this.#deps.limits.connections) {
      const limit = this.#deps.limits.connections;
      refuse(connection, 503, `a sandbox may have ${limit} connections at once`);
      return;
    }
    this.#connections.add(connection);
    connection.once("close", () => this.#connections.delete(connection));
    this.#server.emit("connection", connection);
  }

  close(): void {
    this.#closing.abort(new ToolyardError("cancelled", "The sandbox is gone"));
    for (const connection of this.#connections) connection.destroy();
  }

  /** A request for an absolute `http:` URL. */
  async #forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = toUrl(incoming);
      const target = { host: url.hostname, port: Number(url.port || 80) };
      this.#check(target);
      const upstream = await this.#connect(target);
      const outgoing = request({
        createConnection: () => upstream,
        method: incoming.method ?? "GET",
        path: `${url.pathname}${url.search}`,
        headers: { ...forwardedHeaders(incoming), host: url.host, connection: "close" },
      });
      response.once("close", () => outgoing.destroy());
      outgoing.once("response", (upstreamAnswer) => passOn(upstreamAnswer, response, target.host));
      outgoing.once("upgrade", (_answer, socket) => {
        socket.destroy();
        answer(response, 502, `${target.host} would become something else`);
      });
      outgoing.once("error", () => {
        if (response.headersSent) response.destroy();
        else answer(response, 502, `${target.host} broke off`);
      });
      pipeline(incoming, outgoing, () => {});
    } catch (error) {
      const { status, message } = this.#explain(error);
      answer(response, status, message);
    }
  }

  /** CONNECT: bytes both ways, once it is clear that they are meant for the host that was named. */
  async #tunnel(incoming: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on("error", () => client.destroy());
    try {
      const target = toAuthority(incoming.url ?? "");
      this.#check(target);
      const upstream = await this.#connect(target);
      client.once("close", () => upstream.destroy());
      upstream.once("close", () => client.destroy());
      upstream.on("error", () => client.destroy());
      if (client.destroyed) {
        upstream.destroy();
        return;
      }
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      const opening = this.#deps.hosts.namesPort(target.host, target.port)
        ? head
        : await this.#readHello(client, head, target);
      if (opening === null) {
        client.destroy();
        return;
      }
      upstream.write(opening);
      client.pipe(upstream);
      upstream.pipe(client);
    } catch (error) {
      const { status, message } = this.#explain(error);
      refuse(client, status, message);
    }
  }

  /** Reads the start of a tunnel; `null` when it is not TLS for the host that CONNECT named. */
  async #readHello(client: Duplex, head: Buffer, { host }: Target): Promise<Buffer | null> {
    let bytes = head;
    const tooLate = Promise.withResolvers<null>();
    const cancel = this.#deps.clock.after(this.#deps.limits.openingTimeoutMs, () => tooLate.resolve(null));
    try {
      for (;;) {
        const opening = readOpening(bytes);
        if (opening.kind === "tls") {
          const name = opening.serverName === null ? null : normalizeHost(opening.serverName);
          // TLS to an address has no name to say.
          const isMeant = name === null ? isAddress(host) : name === normalizeHost(host);
          if (!isMeant)
            this.#deps.logger.warn({ host, server_name: opening.serverName }, "a tunnel was for another host");
          return isMeant ? bytes : null;
        }
        if (opening.kind === "other" || bytes.length > MAX_CLIENT_HELLO_BYTES) return null;
        // oxlint-disable-next-line no-await-in-loop -- what comes next decides
        const more = await Promise.race([readSome(client), tooLate.promise]);
        if (more === null) return null;
        bytes = Buffer.concat([bytes, more]);
      }
    } finally {
      cancel();
    }
  }

  #check({ host, port }: Target): void {
    if (this.#deps.hosts.allows(host, port)) return;
    this.#deps.logger.warn({ host, port }, "a sandbox asked for a host that is not on its list");
    throw new ToolyardError("address_refused", `${host}:${port} is not on this sandbox's list of hosts`);
  }

  async #connect({ host, port }: Target): Promise<Socket> {
    const { addresses, limits, clock, lookup, dial } = this.#deps;
    const late = new AbortController();
    const cancel = clock.after(limits.connectTimeoutMs, () =>
      late.abort(
        new ToolyardError("upstream_failed", `${host}:${port} did not answer in ${limits.connectTimeoutMs} ms`),
      ),
    );
    try {
      const signal = AbortSignal.any([late.signal, this.#closing.signal]);
      const socket = await connectTo(host, port, {
        policy: addresses,
        signal,
        ...(lookup !== undefined && { lookup }),
        ...(dial !== undefined && { dial }),
      });
      socket.setTimeout(limits.idleTimeoutMs, () => socket.destroy());
      socket.setNoDelay(true);
      return socket;
    } finally {
      cancel();
    }
  }

  #explain(error: unknown): { readonly status: number; readonly message: string } {
    if (!ToolyardError.is(error)) {
      this.#deps.logger.error({ err: error }, "the egress proxy failed");
      return { status: 502, message: "the proxy failed" };
    }
    if (error.error === "address_refused") return { status: 403, message: error.message };
    if (error.error === "invalid_url" || error.error === "invalid_request")
      return { status: 400, message: error.message };
    return { status: 502, message: error.message };
  }
}

function toUrl({ url = "", headers }: IncomingMessage): URL {
  const target = URL.canParse(url) ? new URL(url) : null;
  if (target === null || target.protocol !== "http:" || target.hostname === "") {
    throw new ToolyardError("invalid_request", "this is a proxy: ask it for an absolute http URL, or to CONNECT");
  }
  if (target.username !== "" || target.password !== "")
    throw new ToolyardError("invalid_request", "a URL with a user in it is refused");
  if (headers.host !== undefined && headers.host.toLowerCase() !== target.host)
    throw new ToolyardError("invalid_request", "the Host header names another host than the URL");
  return target;
}

function toAuthority(text: string): Target {
  const [, host = "", port = ""] = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(text) ?? [];
  if (normalizeHost(host) === null || Number(port) < 1 || Number(port) > 65_535)
    throw new ToolyardError("invalid_request", "CONNECT needs a host and a port");
  return { host, port: Number(port) };
}

function isAddress(host: string): boolean {
  return host.startsWith("[") || /^[\d.]+$/.test(normalizeHost(host) ?? "");
}

/** The next bytes; `null` when there are none. */
function readSome(stream: Duplex): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const settle = (chunk: Buffer | null) => {
      stream.pause();
      for (const [event, listener] of listeners) stream.off(event, listener);
      resolve(chunk);
    };
    const onData = (chunk: Buffer) => settle(chunk);
    const onEnd = () => settle(null);
    const listeners = [
      ["data", onData],
      ["end", onEnd],
      ["close", onEnd],
    ] as const;
    for (const [event, listener] of listeners) stream.on(event, listener);
    stream.resume();
  });
}

/** Passes an answer on, unless it is one that may not be: its status can be any three digits. */
function passOn(upstreamAnswer: IncomingMessage, response: ServerResponse, host: string): void {
  try {
    response.writeHead(upstreamAnswer.statusCode ?? 502, forwardedHeaders(upstreamAnswer));
  } catch {
    upstreamAnswer.destroy();
    answer(response, 502, `${host} gave no HTTP answer`);
    return;
  }
  pipeline(upstreamAnswer, response, () => {});
}

function answer(response: ServerResponse, status: number, message: string): void {
  if (response.destroyed) return;
  const headers = {
    [PROXY_STATUS]: statusOf(status),
    "content-type": "text/plain; charset=utf-8",
    connection: "close",
  };
  response.writeHead(status, headers);
  response.end(`toolyard: ${message}\n`);
}

/** Tells a refusal by the proxy from a site's own answer of the same status (RFC 9209). */
function statusOf(status: number): string {
  return `toolyard; error=${status === 403 ? "http_request_denied" : status === 502 ? "destination_unavailable" : "http_request_error"}`;
}

function refuse(stream: Duplex, status: number, message: string): void {
  if (stream.destroyed || !stream.writable) return;
  const body = `toolyard: ${message}\n`;
  stream.end(
    `HTTP/1.1 ${status} Refused\r\n${PROXY_STATUS}: ${statusOf(status)}\r\ncontent-type: text/plain; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
