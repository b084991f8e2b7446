import { type Bindings, type ChildLoggerOptions, type DestinationStream, pino, stdSerializers } from "pino";
import type { Logger } from "../core/context.ts";
import { type LineDestination, LineBatches } from "./line-batches.ts";
import { redact } from "./redact.ts";

/** How much the server says, and where. */
export interface LoggerOptions {
  readonly level: "debug" | "info" | "warn" | "error" | "silent";
  /** Standard error by default, in batches. */
  readonly destination?: DestinationStream;
}

/** The server's own logger: core's, and a way to write out what is still in memory. */
export interface ServerLogger extends Logger {
  flush(): void;
}

/**
 * Makes a logger that writes one line of JSON per event.
 *
 * Lines are written in batches, at the latest after a quarter of a second and on exit, so that a call costs no system
 * call of its own. The values of keys that name secrets are left out.
 */
export function createLogger({ level, destination = createBatches() }: LoggerOptions): ServerLogger {
  const logger = pino(
    {
      level,
      base: null,
      timestamp,
      formatters: { level: (label) => ({ level: label }), log: redact },
      serializers: { err: stdSerializers.err, error: toFacts, cause: toFacts },
    },
    destination,
  );
  // Children inherit it; pino does not apply a formatter to what a child is bound to.
  const { child } = logger;
  Object.defineProperty(logger, "child", {
    value(this: typeof logger, facts: Bindings, options?: ChildLoggerOptions) {
      return Reflect.apply(child, this, [redact(facts), options]);
    },
  });
  return Object.assign(logger, {
    flush: () => flush(destination),
    // pino asks of each value whether it needs a serializer: for the one line of every call that is most of the line's cost.
    call(facts: object) {
      if (!logger.isLevelEnabled("info")) return;
      destination.write(`{"level":"info"${timestamp()},"msg":"call",${JSON.stringify(facts).slice(1)}\n`);
    },
  });
}

let stamped = 0;
let stamp = "";

/** Writes a millisecond once, however many lines fall into it. */
function timestamp(): string {
  const now = Date.now();
  if (now !== stamped) {
    stamped = now;
    stamp = `,"time":"${new Date(now).toISOString()}"`;
  }
  return stamp;
}

function toFacts(value: unknown): unknown {
  return value instanceof Error ? stdSerializers.err(value) : value;
}

function createBatches(): LineDestination {
  const destination = new LineBatches(2);
  process.on("exit", () => destination.flushSync());
  return destination;
}

function flush(destination: DestinationStream): void {
  if ("flushSync" in destination && typeof destination.flushSync === "function") destination.flushSync();
}
