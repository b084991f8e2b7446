import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What the engine was asked to do beyond looking. */
export interface EngineRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly bodyBytes: number;
  /** False when the client broke off before its body ended. */
  readonly complete: boolean;
}

/** A Docker Engine that answers from a script, on a socket of its own. */
export interface FakeEngine {
  readonly environment: { readonly DOCKER_HOST: string };
  /** By reference; what is tagged or imported is added. */
  readonly images: Map<string, { readonly labels: Readonly<Record<string, string>> }>;
  readonly requests: EngineRequest[];
  /** The answer to a pull; by default that no registry can be reached. */
  pull: { readonly status: number; readonly lines: readonly object[] };
  /** Answers a build. It succeeds when this does nothing. */
  build: (response: ServerResponse) => Promise<void> | void;
  close(): Promise<void>;
}

export async function startFakeEngine(): Promise<FakeEngine> {
  const folder = await mkdtemp(join(tmpdir(), "toolyard-engine-"));
  const socket = join(folder, "docker.sock");
  const engine: FakeEngine = {
    environment: { DOCKER_HOST: `unix://${socket}` },
    images: new Map(),
    requests: [],
    pull: { status: 500, lines: [{ message: "dial tcp: lookup registry: no such host" }] },
    build: (response) => {
      for (const line of SUCCESS) response.write(`${JSON.stringify(line)}\r\n`);
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  const server: Server = createServer((request, response) => {
    void answer(engine, request, response).catch(() => response.destroy());
  });
  server.listen(socket);
  await once(server, "listening");
  return engine;
}

const SUCCESS = [
  { stream: "Step 1/2 : FROM ${BASE}" },
  { stream: "\n" },
  { stream: " ---> 0123456789ab\n" },
  { stream: "Step 2/2 : RUN apt-get   update\n" },
  { stream: "Get:1 http://deb.example/ \u001b[31mbookworm\u001b[0m\n" },
  { aux: { ID: "sha256:beef" } },
  { stream: "Successfully built beef\n" },
];

async function answer(engine: FakeEngine, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://engine");
  const query = Object.fromEntries(searchParams);
  if (request.method === "GET") return look(engine, pathname, response);
  let bodyBytes = 0;
  let complete = true;
  try {
    for await (const chunk of request) bodyBytes += (chunk as Buffer).length;
  } catch {
    complete = false;
  }
  engine.requests.push({ path: pathname, query, bodyBytes, complete });
  if (!complete) return;
  if (pathname === "/build") {
    response.writeHead(200);
    await engine.build(response);
    engine.images.set(query["t"] ?? "", { labels: JSON.parse(query["labels"] ?? "{}") });
    response.end();
  } else if (pathname === "/images/create" && query["fromSrc"] === undefined) {
    response.writeHead(engine.pull.status);
    if (engine.pull.status === 200) engine.images.set(`${query["fromImage"]}:${query["tag"]}`, { labels: {} });
    response.end(engine.pull.lines.map((line) => `${JSON.stringify(line)}\r\n`).join(""));
  } else if (pathname === "/images/create") {
    const [, version = ""] = /LABEL toolyard\.image\.version=(\w+)/.exec(decodeURIComponent(request.url ?? "")) ?? [];
    engine.images.set(`${query["repo"]}:${query["tag"]}`, { labels: { "toolyard.image.version": version } });
    response.end('{"status":"sha256:cafe"}\r\n');
  } else if (/^\/images\/.+\/tag$/.test(pathname)) {
    const source = engine.images.get(decodeURIComponent(pathname.slice("/images/".length, -"/tag".length)));
    if (source !== undefined) engine.images.set(`${query["repo"]}:${query["tag"]}`, source);
    response.writeHead(source === undefined ? 404 : 201).end();
  } else response.writeHead(501).end();
}

function look(engine: FakeEngine, path: string, response: ServerResponse): void {
  if (path === "/_ping") return void response.end("OK");
  const reference = /^\/images\/(.+)\/json$/.exec(path)?.[1];
  const image = reference === undefined ? undefined : engine.images.get(decodeURIComponent(reference));
  if (image === undefined) return void response.writeHead(404).end('{"message":"No such image"}');
  const answered = {
    Id: "sha256:beef",
    Config: { Labels: image.labels },
    Size: 260_400_000,
    Created: "2026-11-22T02:00:00Z",
  };
  response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(answered));
}
