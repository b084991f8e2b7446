import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What `/ready` says of a runtime. */
export interface RuntimeReady {
  readonly available: boolean;
  readonly reason?: string;
  readonly pool?: { readonly ready: number; readonly starting: number; readonly misses: number };
}

/** The server as users start it, in a process of its own, with a warm pool of one runtime. */
export interface SandboxServer extends AsyncDisposable {
  readonly url: string;
  /** Posts JSON; throws when the answer is no success. */
  post(path: string, body: object): Promise<Record<string, unknown>>;
  /** Waits until the pool has as many ready as it was told to hold. */
  filled(): Promise<void>;
  misses(): Promise<number>;
}

/** Starts one; its log goes to a real file, as by default. */
export async function startSandboxServer(
  runtime: string,
  { min, settings = {} }: { readonly min: number; readonly settings?: object },
): Promise<SandboxServer> {
  const folder = mkdtempSync(join(tmpdir(), "toolyard-bench-"));
  const config = join(folder, "config.json");
  const pool = { min, max: Math.max(1, min), kernels: ["python"] };
  const runtimes = { order: [runtime], [runtime]: { ...settings, ...(min > 0 && { pool }) } };
  writeFileSync(config, JSON.stringify({ resources: { code: { backend: "code", config: { runtime } } }, runtimes }));
  const log = openSync(join(folder, "log"), "w");
  const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
  const args = ["serve", "--config", config, "--port", "0", "--data", join(folder, "data"), "--json"];
  // With a channel, it ends with this process.
  const child = spawn(process.execPath, [cli, ...args], { stdio: ["ignore", "pipe", log, "ipc"] });
  const ended = once(child, "exit");
  if (child.stdout === null) throw new Error("the server has no output");
  const [line] = await Promise.race([
    once(child.stdout, "data"),
    ended.then(() => Promise.reject(new Error(`the server ended; see ${folder}/log`))),
  ]);
  // What `serve --json` prints.
  const { url } = JSON.parse(String(line)) as { url: string };
  const read = async (response: Response): Promise<Record<string, unknown>> => {
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
    // Every answer of the server is a JSON object.
    return JSON.parse(text) as Record<string, unknown>;
  };
  const ready = async (): Promise<RuntimeReady> => {
    const { runtimes: found } = await read(await fetch(`${url}/ready`));
    // As docs/http.md says.
    return (found as Record<string, RuntimeReady>)[runtime] ?? { available: false };
  };
  return {
    url,
    post: async (path, body) => read(await fetch(url + path, { method: "POST", body: JSON.stringify(body) })),
    async filled() {
      for (;;) {
        const { pool: held } = await ready();
        if (held === undefined || (held.ready >= min && held.starting === 0)) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    misses: async () => (await ready()).pool?.misses ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
      closeSync(log);
      rmSync(folder, { recursive: true });
    },
  };
}
