import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The server as users start it, in a process of its own, which ends with this one. */
export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  /** Posts JSON; throws when the answer is no success. */
  post(path: string, body: object): Promise<Record<string, unknown>>;
  get(path: string): Promise<Record<string, unknown>>;
}

/** Starts one with a config of the caller's; its log goes to a real file, as by default. The data folder may be given, and stays. */
export async function startServerProcess(content: object, data?: string): Promise<ServerProcess> {
  const folder = mkdtempSync(join(tmpdir(), "toolyard-bench-"));
  const config = join(folder, "config.json");
  writeFileSync(config, JSON.stringify(content));
  const log = openSync(join(folder, "log"), "w");
  const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
  const args = ["serve", "--config", config, "--port", "0", "--data", data ?? join(folder, "data"), "--json"];
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
  return {
    url,
    post: async (path, body) => read(await fetch(url + path, { method: "POST", body: JSON.stringify(body) })),
    get: async (path) => read(await fetch(url + path)),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
      closeSync(log);
      rmSync(folder, { recursive: true });
    },
  };
}
