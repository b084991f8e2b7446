import { type ServerProcess, startServerProcess } from "./server-process.ts";

/** What `/ready` says of a runtime. */
export interface RuntimeReady {
  readonly available: boolean;
  readonly reason?: string;
  readonly pool?: { readonly ready: number; readonly starting: number; readonly misses: number };
}

/** The server with a warm pool of one runtime. */
export interface SandboxServer extends ServerProcess {
  /** Waits until the pool has as many ready as it was told to hold. */
  filled(): Promise<void>;
  misses(): Promise<number>;
}

export async function startSandboxServer(
  runtime: string,
  { min, settings = {} }: { readonly min: number; readonly settings?: object },
): Promise<SandboxServer> {
  const pool = { min, max: Math.max(1, min), kernels: ["python"] };
  const runtimes = { order: [runtime], [runtime]: { ...settings, ...(min > 0 && { pool }) } };
  const server = await startServerProcess({ resources: { code: { backend: "code", config: { runtime } } }, runtimes });
  const ready = async (): Promise<RuntimeReady> => {
    const { runtimes: found } = await server.get("/ready");
    // As docs/http.md says.
    return (found as Record<string, RuntimeReady>)[runtime] ?? { available: false };
  };
  return {
    ...server,
    async filled() {
      for (;;) {
        const { pool: held } = await ready();
        if (held === undefined || (held.ready >= min && held.starting === 0)) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    misses: async () => (await ready()).pool?.misses ?? 0,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
