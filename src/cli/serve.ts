import { LOG_LEVELS } from "../config/schema.ts";
import type { Toolyard } from "../main.ts";
import type { ServerLogger } from "../log/logger.ts";
import { type Command, CommandError, parseFlags, parseNumber, type Terminal, UsageError } from "./command.ts";
import { loadNamedConfig } from "./config-flag.ts";
import { boundYoungSpace } from "./young-space.ts";

const DEFAULT_DATA_DIR = ".toolyard";

/** Runs the server until it is told to stop. */
export const serve: Command = {
  help: `Usage: toolyard serve [flags]

Runs the server in the foreground; SIGTERM, SIGINT or POST /api/v1/server/shutdown end it once its calls have ended.
Flags win over the config. It logs to standard error, one line of JSON per event.

  --config F     the config file (the package's configs/default.json)
  --port N       the port; 0 for any free one
  --host H       the address to listen on (127.0.0.1)
  --data DIR     where state is kept (.toolyard); one server at a time
  --ephemeral    keep state in memory: nothing outlives the server
  --log-level L  ${LOG_LEVELS.join(", ")}
  --json         print where it listens as JSON`,

  async run(args, terminal) {
    const { values } = parseFlags(args, {
      config: { type: "string" },
      port: { type: "string" },
      host: { type: "string" },
      data: { type: "string" },
      ephemeral: { type: "boolean" },
      "log-level": { type: "string" },
      json: { type: "boolean" },
    });
    const port = parseNumber("port", values.port, { min: 0, max: 65_535, integer: true });
    const level = parseLevel(values["log-level"]);
    boundYoungSpace();
    const shutdown = new Shutdown();
    const { config, dir } = await loadNamedConfig(values.config, terminal);
    const { createLogger } = await import("../log/logger.ts");
    const logger = createLogger({ level: level ?? config.server.log_level });
    shutdown.guard(logger);
    const { packageVersion, startToolyard } = await import("../main.ts");
    const { needsRuntimes, openRuntimes, reportRuntimes } = await import("../plugins/open-runtimes.ts");
    const keeps = values.ephemeral !== true && (values.data !== undefined || config.store.driver === "sqlite");
    const runtimes = openRuntimes(config, {
      version: packageVersion(),
      logger,
      ...(keeps && { dataDir: values.data ?? DEFAULT_DATA_DIR }),
    });
    let toolyard: Toolyard;
    try {
      toolyard = await startToolyard({
        config,
        configDir: dir,
        logger,
        port,
        host: values.host,
        dataDir: values.data,
        ...(values.ephemeral === true && { store: "memory" }),
        runtimes,
      });
    } catch (error) {
      logger.flush();
      throw explainListenError(error, values.host ?? config.server.host, port ?? config.server.port);
    }
    shutdown.toolyard = toolyard;
    announce(toolyard, values.json === true, terminal);
    if (needsRuntimes(config)) void reportRuntimes(runtimes, logger);
    await shutdown.finished;
    return 0;
  },
};

function parseLevel(text: string | undefined): (typeof LOG_LEVELS)[number] | undefined {
  if (text === undefined) return undefined;
  const level = LOG_LEVELS.find((known) => known === text.toLowerCase());
  if (level === undefined) throw new UsageError(`--log-level takes ${LOG_LEVELS.join(", ")}, not ${text}`);
  return level;
}

function announce({ url, port, engine, asksForKeys }: Toolyard, json: boolean, { print }: Terminal): void {
  if (json) print(JSON.stringify({ url, port, pid: process.pid }));
  else print(`toolyard listens on ${url} - try: ${exampleFor(url, engine, asksForKeys)}`);
  process.send?.({ type: "listening", url, pid: process.pid });
}

function exampleFor(url: string, { catalog }: Toolyard["engine"], asksForKeys: boolean): string {
  const names = new Set(catalog.list().map((tool) => tool.full_name));
  const curl = asksForKeys ? 'curl -s -H "X-API-Key: $TOOLYARD_API_KEY"' : "curl -s";
  const execute = (action: string, params: object): string =>
    `${curl} ${url}/execute -d '${JSON.stringify({ worker_id: "w1", action, params })}'`;
  if (names.has("code:run")) {
    return execute("code:run", { language: "javascript", code: "[1,2,3].map(x => x*x)" });
  }
  return names.has("echo") ? execute("echo", { message: "hello" }) : `${curl} ${url}/api/v1/tools`;
}

function explainListenError(error: unknown, host: string, port: number): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") {
    return new CommandError(`port ${port} of ${host} is in use: stop what holds it, or choose another with --port`);
  }
  if (code === "EACCES") return new CommandError(`port ${port} of ${host} may not be had: choose one above 1023`);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return new CommandError(`${host} is no address of this machine`);
  return error;
}

/** Ends the process gracefully on signals and with its parent; a second signal ends it at once. */
class Shutdown {
  #logger: ServerLogger | undefined;
  readonly finished: Promise<void>;
  #finish: () => void = () => undefined;
  #toolyard: Toolyard | undefined;
  #asked = false;

  constructor() {
    this.finished = new Promise((resolve) => (this.#finish = resolve));
    process.on("SIGTERM", () => this.#ask("SIGTERM"));
    process.on("SIGINT", () => this.#ask("SIGINT"));
    process.on("disconnect", () => this.#ask("the parent process ended"));
    // Listening holds the channel open; a start that failed must end all the same, and a server is kept up by its port.
    process.channel?.unref();
  }

  /** What a plugin leaves unhandled is logged; an exception that nobody caught ends the server in good order. */
  guard(logger: ServerLogger): void {
    this.#logger = logger;
    process.on("unhandledRejection", (error) => logger.error({ err: error }, "unhandled rejection"));
    process.on("uncaughtException", (error) => {
      logger.error({ err: error }, "uncaught exception; the server stops");
      process.exitCode = 1;
      if (!this.#asked) this.#ask("an uncaught exception");
    });
  }

  /** Set once the server listens. */
  set toolyard(toolyard: Toolyard) {
    this.#toolyard = toolyard;
    void toolyard.stopped.then(() => this.#exit());
    // The parent may have gone before anybody listened for it.
    if (process.send !== undefined && !process.connected && !this.#asked) this.#ask("the parent process ended");
  }

  #ask(reason: string): void {
    // A second wish, or one before there is anything to end in order.
    if (this.#asked || this.#toolyard === undefined) return this.#exit(this.#asked ? 1 : undefined);
    this.#asked = true;
    this.#logger?.info({ reason }, "stopping");
    this.#toolyard.stop().catch((error: unknown) => {
      this.#logger?.error({ err: error }, "the server did not stop cleanly");
      this.#exit(1);
    });
  }

  #exit(code?: number): void {
    this.#logger?.flush();
    this.#finish();
    // Whatever a plugin left running does not keep a stopped server alive.
    process.exit(code);
  }
}
