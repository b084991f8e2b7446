import { constants, existsSync, statSync } from "node:fs";
import { access } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, resolve } from "node:path";
import { HttpServiceClient } from "../client/http-client.ts";
import type { Config } from "../config/schema.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Isolation, RuntimeStatus } from "../core/runtime.ts";
import { createLogger } from "../log/logger.ts";
import { loadBackends } from "../plugins/load-backends.ts";
import { openRuntimes } from "../plugins/open-runtimes.ts";
import { type Command, parseFlags } from "./command.ts";
import { loadNamedConfig } from "./config-flag.ts";
import { type Finding, toRow } from "./finding.ts";
import { preflight } from "./preflight/preflight.ts";
import { formatTable } from "./table.ts";

const RUNTIME_CHECK_MS = 15_000;
const HEALTH_CHECK_MS = 2_000;

/** Where a server that listens on every address is asked. */
const WILDCARDS: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };

/** Says what is available here, and how to get what is not. */
export const doctor: Command = {
  help: `Usage: toolyard doctor [flags]

Looks at Node, the config, its backends, the runtimes, the port and the data folder; at the Docker Engine, its images and
limits; at the known flaws of runc, containerd and bubblewrap; at the room on disk. The exit code is 0 if a server can
start, or one runs at the port already; what is missing or weak is named with its remedy.

  --config F    the config file (the package's configs/default.json)
  --data DIR    where state is kept (.toolyard)
  --json        print the findings as JSON`,

  async run(args, terminal) {
    const { values } = parseFlags(args, {
      config: { type: "string" },
      data: { type: "string" },
      json: { type: "boolean" },
    });
    const findings: Finding[] = [{ check: "node", ok: true, detail: process.versions.node }];
    const loaded = await loadNamedConfig(values.config, terminal).catch((error: unknown) => messageOf(error));
    if (typeof loaded === "string") findings.push({ check: "config", ok: false, detail: loaded });
    else findings.push(...(await checkConfig(loaded)));
    const dataDir = values.data ?? ".toolyard";
    const socket = typeof loaded === "string" ? undefined : loaded.config.runtimes.docker.socket;
    findings.push(await checkDataDir(dataDir), ...(await preflight({ dataDir, socket })));
    const ok = findings.every((finding) => finding.ok || finding.optional === true);
    if (values.json) terminal.print(JSON.stringify({ ok, findings }));
    else terminal.print(formatTable(findings.map(toRow)));
    return ok ? 0 : 1;
  },
};

async function checkConfig(loaded: LoadedConfig): Promise<readonly Finding[]> {
  return [
    { check: "config", ok: true, detail: loaded.path },
    ...(await checkRuntimesAndBackends(loaded)),
    await checkPort(loaded.config),
  ];
}

async function checkRuntimesAndBackends({ config, dir }: LoadedConfig): Promise<readonly Finding[]> {
  const logger = createLogger({ level: "silent" });
  const runtimes = openRuntimes(config);
  const findings: Finding[] = [];
  try {
    const status = await runtimes.status(AbortSignal.timeout(RUNTIME_CHECK_MS));
    for (const [name, runtime] of Object.entries(status)) findings.push(toRuntimeFinding(name, runtime));
    const mounted = await loadBackends(config, { configDir: dir, logger, runtimes });
    for (const { resource, backend } of mounted) {
      const { size } = backend.tools();
      findings.push({ check: `backend ${resource}`, ok: true, detail: `${size} ${size === 1 ? "tool" : "tools"}` });
    }
  } catch (error) {
    findings.push({ check: "backends", ok: false, detail: messageOf(error) });
  } finally {
    await runtimes.close();
  }
  return findings;
}

function toRuntimeFinding(name: string, runtime: RuntimeStatus & { readonly isolation: Isolation }): Finding {
  const { available, reason = "", remedy, isolation, languages, leaked = [] } = runtime;
  const spoken = Object.entries(languages).filter(([, language]) => language.available);
  const left = leaked.length === 0 ? "" : `; could not remove ${leaked.join(", ")}`;
  const detail = `isolation ${isolation}; runs ${spoken.map(([language]) => language).join(", ")}${left}`;
  return {
    check: `runtime ${name}`,
    ok: available,
    optional: true,
    detail: available ? detail : reason,
    ...(remedy !== undefined && { remedy }),
  };
}

async function checkPort({ server: { host, port } }: Config): Promise<Finding> {
  const probe = createServer();
  try {
    await new Promise<void>((listening, failed) => {
      probe.once("error", failed);
      probe.listen(port, host, listening);
    });
    return { check: "port", ok: true, detail: `${host}:${port} is free` };
  } catch (error) {
    if (await isToolyard(host, port)) {
      return { check: "port", ok: true, detail: `${host}:${port} is in use: a Toolyard answers there` };
    }
    const remedy = "Stop what holds it, or choose another with --port.";
    return { check: "port", ok: false, detail: messageOf(error), remedy };
  } finally {
    probe.close();
  }
}

/** Whether what holds the port is a server of ours, as it is while one runs. */
async function isToolyard(host: string, port: number): Promise<boolean> {
  const name = WILDCARDS[host] ?? (host.includes(":") ? `[${host}]` : host);
  const client = new HttpServiceClient({ baseUrl: `http://${name}:${port}` });
  try {
    const { status, features } = await client.health({ timeoutMs: HEALTH_CHECK_MS, maxRetries: 0 });
    return status === "healthy" && Array.isArray(features);
  } catch {
    return false;
  }
}

/** Looks without making anything: the nearest folder that is there must take a new one. */
async function checkDataDir(dir: string): Promise<Finding> {
  const path = resolve(dir);
  let present = path;
  while (!existsSync(present)) present = dirname(present);
  try {
    if (!statSync(present).isDirectory()) throw new Error(`${present} is not a folder`);
    await access(present, constants.W_OK | constants.X_OK);
    return { check: "data", ok: true, detail: `${path} can be written` };
  } catch (error) {
    return { check: "data", ok: false, detail: messageOf(error), remedy: "Name a folder of your own with --data." };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
