import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import BrowserBackend from "../../../src/backends/browser/backend.ts";
import type { AnyBackend } from "../../../src/core/backend.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { createEgress } from "../../../src/egress/egress.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";
import { browserLacking } from "../../kit/browser.ts";
import { recordingLogger } from "../../kit/recording-logger.ts";
import { testServer } from "../../kit/test-server.ts";

const local = createRuntimeSelector({ order: ["local"] });
const { local: status } = await local.status(AbortSignal.timeout(60_000));

/** Why there can be no browser in a sandbox on this machine's own programs; nothing where there can. */
export const sandboxedBrowserLacking = status?.available === true ? browserLacking : `local: ${status?.reason}`;

/** A site of the test's own on the host, `shop.test` to the browser's proxy, which no name server knows. */
export async function openSite(listener: RequestListener) {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // it listens
  return { port, url: `http://shop.test:${port}` };
}

export interface BrowserServerOptions {
  readonly config?: Record<string, unknown>;
  /** The addresses of names that the proxy looks up. */
  readonly lookup?: (host: string) => Promise<string[]>;
  readonly allowedAddresses?: readonly string[];
  /** Beside the browser's. */
  readonly backends?: readonly AnyBackend[];
}

/** A real server with browsers in sandboxes of this machine, ended with the test. */
export async function browserServer({
  config = {},
  lookup,
  allowedAddresses,
  backends = [],
}: BrowserServerOptions = {}) {
  const egress = createEgress({
    clock: systemClock,
    logger: recordingLogger(),
    allowedAddresses: allowedAddresses ?? ["127.0.0.0/8"],
    lookup: lookup ?? (async () => ["127.0.0.1"]),
  });
  const runtimes = createRuntimeSelector({ order: ["local"], local: { egress } });
  const server = await testServer({ backends: [new BrowserBackend({ config, runtimes }), ...backends] });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const open = async (sessionConfig: Record<string, unknown> = {}): Promise<string> => {
    const request = { worker_id: "w1", resource_type: "browser", session_config: sessionConfig };
    const { body } = await server.post("/api/v1/session/create", request);
    if (body.code !== 0) throw new Error(`no session: ${body.message}`);
    return body.data.session_id;
  };
  // Tests look into answers of every shape; what they expect is checked by the assertion itself.
  // oxlint-disable-next-line typescript/no-explicit-any
  const call = async (tool: string, params: object = {}): Promise<any> => {
    const { body } = await server.execute(`browser:${tool}`, params);
    if (body.code !== 0) throw new Error(`browser:${tool}: ${body.message}`);
    return body.data;
  };
  const fail = async (tool: string, params: object = {}) => {
    const { body } = await server.execute(`browser:${tool}`, params);
    return { error: body.meta?.error, outcome: body.meta?.outcome, message: body.message };
  };
  return { server, open, call, fail };
}
