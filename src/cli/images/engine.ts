import type Docker from "dockerode";
import { findEngine } from "../../runtimes/docker/engine-address.ts";
import { CommandError } from "../command.ts";

const PING_MS = 10_000;
const INSTALL =
  "install and start one (on Debian: apt-get install docker.io; else https://docs.docker.com/engine/install)";

/** An image as the engine has it. */
export interface PresentImage {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly sizeBytes: number;
  readonly createdAt: Date;
}

/**
 * Connects to the engine at a socket, by default to the one that `DOCKER_HOST` names, or the machine's own.
 *
 * @throws CommandError that says why it does not answer and what to do
 */
export async function openEngine(socket?: string): Promise<Docker> {
  try {
    // It brings gRPC along, which takes a while to load: only who uses an engine waits for that.
    const { default: Client } = await import("dockerode");
    const address = findEngine(socket);
    // Images can be built on an engine elsewhere, too: the client reads DOCKER_HOST itself.
    const engine = "socketPath" in address ? new Client({ socketPath: address.socketPath }) : new Client();
    // The types of `ping` know no signal; its options do.
    await engine.ping({ abortSignal: AbortSignal.timeout(PING_MS) } as never);
    return engine;
  } catch (error) {
    throw new CommandError(`no Docker Engine answers: ${engineProblem(error)}`);
  }
}

/** Says why the engine does not answer, and what to do. */
export function engineProblem(error: unknown): string {
  const { code, address } = detailsOf(error);
  const place = address ?? process.env["DOCKER_HOST"] ?? "/var/run/docker.sock";
  if (code === "EACCES") return `${place} may not be used by this user; run as root, or join the group docker`;
  if (code === "ENOENT" || code === "ECONNREFUSED") {
    return `nothing listens at ${place}; ${INSTALL}, or name another with DOCKER_HOST`;
  }
  if (code === "ABORT_ERR" || code === "TIMEOUT") {
    return `it was silent for ${PING_MS / 1000} s at ${place}; see its log, or start it anew`;
  }
  return `${reasonOf(error)}; look at DOCKER_HOST and the engine's log`;
}

function detailsOf(error: unknown): { readonly code?: unknown; readonly address?: string } {
  if (!(error instanceof Error)) return {};
  const code = "code" in error ? error.code : undefined;
  const named = error.name === "TimeoutError" ? "TIMEOUT" : code;
  return "address" in error && typeof error.address === "string"
    ? { code: named, address: error.address }
    : { code: named };
}

/** The engine's own words, without the HTTP around them. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const json: unknown = "json" in error ? error.json : undefined;
  if (typeof json === "object" && json !== null && "message" in json) return String(json.message);
  return error.message.replace(/^\(HTTP code \d+\) [^-]*- /, "").trim();
}

/** Looks an image up by its reference; `null` when the engine has none of that name. */
export async function findImage(engine: Docker, reference: string): Promise<PresentImage | null> {
  try {
    const { Id: id, Config, Size: sizeBytes, Created } = await engine.getImage(reference).inspect();
    return { id, labels: Config?.Labels ?? {}, sizeBytes, createdAt: new Date(Created) };
  } catch (error) {
    if (error instanceof Error && "statusCode" in error && error.statusCode === 404) return null;
    throw new CommandError(`the engine cannot look ${reference} up: ${reasonOf(error)}`);
  }
}
