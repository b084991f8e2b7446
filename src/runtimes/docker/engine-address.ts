const DEFAULT_SOCKET = "/var/run/docker.sock";

/** Where the engine is: the path of its unix socket, or why there is none that we could use. */
export type EngineAddress = { readonly socketPath: string } | { readonly unusable: string };

/**
 * Finds the engine's socket: the configured one, that of `DOCKER_HOST`, or the usual one. Sandboxes talk to the server through a
 * folder of this machine, so an engine elsewhere cannot serve.
 */
export function findEngine(configured: string | undefined, dockerHost = process.env["DOCKER_HOST"]): EngineAddress {
  const address = configured ?? (dockerHost === "" ? undefined : dockerHost) ?? DEFAULT_SOCKET;
  if (address.startsWith("unix://")) return { socketPath: address.slice("unix://".length) || DEFAULT_SOCKET };
  if (address.startsWith("/")) return { socketPath: address };
  return { unusable: "it needs an engine of this machine, at a unix socket" };
}
