import * as http from "node:http";
import type { AddressInfo } from "node:net";

/**
 * What goes wrong with one exchange: `undelivered` breaks the connection before the server hears of it, `drop` loses the whole answer, `cut` breaks the connection in the middle of its body,
 * `early` breaks it while the server still works, `duplicate` delivers the request twice, `delay` holds the answer back
 * until `release`.
 */
export type Fault = "none" | "drop" | "cut" | "early" | "undelivered" | "duplicate" | "delay";

/** A way to a server on which things go wrong as a test says. */
export interface FaultyProxy extends AsyncDisposable {
  readonly url: string;
  /** How many requests came. */
  readonly requests: number;
  /** With how many of them something went wrong. */
  readonly faults: number;
  release(): void;
}

interface Whole {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Stands between a client and a server; `plan` says what goes wrong with the nth request of a path, from 0. */
export async function startFaultyProxy(
  target: string,
  plan: (index: number, path: string) => Fault,
): Promise<FaultyProxy> {
  const counts = new Map<string, number>();
  const held: (() => void)[] = [];
  let requests = 0;
  let faults = 0;

  const answer = (response: http.ServerResponse, { status, headers, body }: Whole, whole: boolean) => {
    response.writeHead(status, { ...headers, "content-length": body.length });
    if (whole) response.end(body);
    else response.write(body.subarray(0, Math.ceil(body.length / 2)), () => response.socket?.resetAndDestroy());
  };

  const proxy = http.createServer((request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const index = counts.get(path) ?? 0;
    counts.set(path, index + 1);
    requests += 1;
    const fault = plan(index, path);
    if (fault !== "none") faults += 1;
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      const send = () => forward(target, request, body);
      if (fault === "undelivered") return void response.socket?.resetAndDestroy();
      if (fault === "early") {
        void send().catch(() => undefined);
        return void response.socket?.resetAndDestroy();
      }
      if (fault === "duplicate") void send().catch(() => undefined);
      send().then(
        (whole) => {
          if (fault === "drop") response.socket?.resetAndDestroy();
          else if (fault === "delay") held.push(() => answer(response, whole, true));
          else answer(response, whole, fault !== "cut");
        },
        () => response.socket?.resetAndDestroy(),
      );
    });
    request.on("error", () => undefined);
    response.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://127.0.0.1:${port}`,
    get requests() {
      return requests;
    },
    get faults() {
      return faults;
    },
    release: () => held.splice(0).forEach((go) => go()),
    [Symbol.asyncDispose]: async () => {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

function forward(target: string, request: http.IncomingMessage, body: Buffer): Promise<Whole> {
  const { "transfer-encoding": _, connection: __, host: ___, ...headers } = request.headers;
  return new Promise((resolve, reject) => {
    const outgoing = http.request(
      target + (request.url ?? ""),
      { method: request.method, headers: { ...headers, "content-length": body.length }, agent: false },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("end", () => {
          const { "transfer-encoding": ____, connection: _____, ...kept } = incoming.headers;
          resolve({ status: incoming.statusCode ?? 0, headers: kept, body: Buffer.concat(chunks) });
        });
        incoming.on("error", reject);
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
