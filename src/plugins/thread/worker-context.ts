import type { CallOptions } from "../../core/caller.ts";
import type { Logger, ToolContext } from "../../core/context.ts";
import type { ToolResult } from "../../core/result.ts";
import { isCloneable, packError } from "../../core/crossed-error.ts";
import type { CallFacts, LogLevel, ToHost } from "./messages.ts";

/** Sends to the host what a plugin does with its context. */
export interface Channel {
  send(message: ToHost): void;
  /** Asks the host for another tool; resolves with the host's answer. */
  call(
    id: number,
    action: string,
    params: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<ToolResult>;
}

/** A logger whose lines the host writes. */
export function createRemoteLogger(channel: Channel, id: number, bindings: Record<string, unknown> = {}): Logger {
  const write =
    (level: LogLevel) =>
    (facts: object, message?: string): void =>
      channel.send({ kind: "log", id, level, facts: toCloneable({ ...bindings, ...facts }), message });
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: (facts) => createRemoteLogger(channel, id, { ...bindings, ...facts }),
  };
}

/** The part of a tool's context that every call of a backend has, with or without a session. */
export function createToolContext(
  channel: Channel,
  id: number,
  facts: CallFacts,
  signal: AbortSignal,
): Omit<ToolContext, "session"> {
  const endsAt = performance.now() + facts.timeLeftMs;
  return {
    ...facts,
    get timeLeftMs() {
      return signal.aborted ? 0 : Math.max(0, endsAt - performance.now());
    },
    signal,
    logger: createRemoteLogger(channel, id),
    progress: (data) => channel.send({ kind: "progress", id, data: toCloneable(data) }),
    output: (stream, text) => channel.send({ kind: "output", id, stream, text }),
    setOutcome: (outcome) => channel.send({ kind: "outcome", id, outcome }),
    call: (action, params = {}, options = {}) => channel.call(id, action, params, options),
  };
}

/** Replaces each value that cannot be sent by its text. */
function toCloneable<T extends object>(facts: T): T {
  if (isCloneable(facts)) {
    // Errors survive cloning, but not the logger's own formatting of them.
    if (!Object.values(facts).some((value) => value instanceof Error)) return facts;
  }
  const entries = Object.entries(facts).map(([key, value]) => {
    if (value instanceof Error) return [key, packError(value)];
    return [key, isCloneable(value) ? value : String(value)];
  });
  // The same keys; only what could not have been sent at all is another value.
  return Object.fromEntries(entries) as T;
}
