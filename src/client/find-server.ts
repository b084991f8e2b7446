import { ToolyardError } from "../core/errors.ts";
import { ConnectionError } from "./errors/connection-error.ts";
import { HttpServiceClient } from "./http-client.ts";
import type { SandboxOptions } from "./sandbox-options.ts";
import { acquireServer, type ServerShare } from "./shared-server.ts";

const DETECT_TIMEOUT_MS = 5_000;

/**
 * Finds the server that a sandbox's options name, or starts one.
 *
 * @returns the share in a server that was started; `undefined` when one answers at `serverUrl`.
 * @throws ConnectionError when none answers and none may be started; ServerStartError when it does not come up.
 */
export async function findServer(options: SandboxOptions): Promise<ServerShare | undefined> {
  const { serverUrl, configPath, dataDir, serverEntry, startupTimeoutMs = 30_000 } = options;
  if (serverUrl !== undefined && (await answers(serverUrl, options))) return undefined;
  const port = serverUrl === undefined ? 0 : loopbackPort(serverUrl);
  return acquireServer({ configPath, dataDir, entry: serverEntry, startupTimeoutMs, port });
}

async function answers(baseUrl: string, options: SandboxOptions): Promise<boolean> {
  try {
    await new HttpServiceClient({ ...options, baseUrl }).health({ timeoutMs: DETECT_TIMEOUT_MS, maxRetries: 0 });
    return true;
  } catch (error) {
    // Only where nothing listens is there room for a server of our own.
    const isFree = error instanceof ConnectionError && error.failure === "unreachable";
    if (isFree && options.autoStart === true) return false;
    throw error;
  }
}

function loopbackPort(serverUrl: string): number {
  const { hostname, port, protocol } = new URL(serverUrl);
  if (protocol !== "http:" || !["127.0.0.1", "localhost", "[::1]"].includes(hostname)) {
    throw new ToolyardError(
      "invalid_url",
      `a server can be started on this machine's loopback only, not at ${serverUrl}`,
    );
  }
  return port === "" ? 80 : Number(port);
}
