import { fileURLToPath } from "node:url";
import type { AnyBackend } from "../../src/core/backend.ts";
import type { Envelope } from "../../src/core/protocol.ts";
import { defaultLimits, type EngineLimits } from "../../src/engine/limits.ts";
import { defaultHttpLimits, type HttpLimits } from "../../src/server/http-limits.ts";
import { type RunningServer, startServer, type ServerOptions } from "../../src/server/server.ts";
import { recordingLogger } from "./recording-logger.ts";

export interface TestServer extends RunningServer, AsyncDisposable {
  readonly logger: ReturnType<typeof recordingLogger>;
  /** Posts JSON and reads the answer's status and JSON. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string): Promise<Answer>;
  execute(action: string, params?: object, more?: object): Promise<Answer>;
}

/** An answer, read as an envelope; paths without one have their own keys. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // Tests look into answers of every shape; what they expect is checked by the assertion itself.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: Envelope<any> & Record<string, any>;
}

export interface TestServerOptions extends Partial<Omit<ServerOptions, "mounts" | "limits" | "http">> {
  /** Mounted under their own resource, or under a name of the test's. */
  readonly backends?: readonly (AnyBackend | readonly [string, AnyBackend])[];
  readonly limits?: Partial<EngineLimits>;
  readonly http?: Partial<HttpLimits>;
  readonly worker?: string;
}

/** A busy machine holds the loop at any time, which would be an event among those that a test counts. */
export const NEVER_LATE = { loopLagMs: Number.MAX_SAFE_INTEGER } satisfies Partial<EngineLimits>;

/** Starts a real server on port 0 with the given backends, to be ended by `await using`. */
export async function testServer(options: TestServerOptions = {}): Promise<TestServer> {
  const logger = recordingLogger();
  const { backends = [], worker = "w1", ...rest } = options;
  const server = await startServer({
    host: "127.0.0.1",
    port: 0,
    logger,
    info: { title: "test", description: "", version: "0" },
    configDir: fileURLToPath(new URL("../../configs", import.meta.url)),
    ...rest,
    limits: { ...defaultLimits, ...NEVER_LATE, ...options.limits },
    http: { ...defaultHttpLimits, ...options.http },
    mounts: backends.map((entry) =>
      "resource" in entry ? { resource: entry.resource, backend: entry } : { resource: entry[0], backend: entry[1] },
    ),
  });
  const read = async (response: Response): Promise<Answer> => {
    const text = await response.text();
    // Every answer of the server is JSON; one that is not fails the test here.
    return { status: response.status, headers: response.headers, body: JSON.parse(text) };
  };
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) =>
    read(
      await fetch(server.url + path, {
        method: "POST",
        headers,
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    );
  return {
    ...server,
    logger,
    post,
    get: async (path) => read(await fetch(server.url + path)),
    execute: (action, params = {}, more = {}) => post("/execute", { worker_id: worker, action, params, ...more }),
    [Symbol.asyncDispose]: () => server.stop({ force: true }),
  };
}
