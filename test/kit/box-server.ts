import type { Duplex } from "node:stream";
import { connect as connectTcp } from "node:net";
import { MemoryFiles } from "./memory-files.ts";
import { SandboxedBackend, type SandboxedOptions } from "./sandboxed-backend.ts";
import { type TestServer, testServer, type TestServerOptions } from "./test-server.ts";

export interface BoxServer extends TestServer {
  readonly files: MemoryFiles;
  readonly backend: SandboxedBackend;
  /** The worker's session. */
  readonly sessionId: string;
  /** The path of the session's files, for a path in it. */
  at(path: string, more?: string): string;
}

/** A server whose one session has a sandbox with files and, as its ports, the test's own. */
export async function boxServer(options: TestServerOptions = {}, sandbox: SandboxedOptions = {}): Promise<BoxServer> {
  const files = new MemoryFiles();
  const backend = new SandboxedBackend({ files, connect: connectLoopback, ...sandbox });
  const server = await testServer({ backends: [backend], ...options });
  const { body } = await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "box" });
  const sessionId: string = body.data.session_id;
  const at = (path: string, more = "") => filesPath(sessionId, path) + more;
  return { ...server, files, backend, sessionId, at };
}

/** The path of a session's files, for a path in it. */
export function filesPath(sessionId: string, path: string): string {
  return `/api/v1/session/${sessionId}/files?path=${encodeURIComponent(path)}`;
}

/** Stands for a sandbox whose loopback is the test's. */
export function connectLoopback(port: number): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp(port, "127.0.0.1", () => resolve(socket));
    socket.once("error", reject);
  });
}
