import type { Logger } from "../../src/core/context.ts";

/** A logged line: its level, its facts and its message. */
export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly facts: Readonly<Record<string, unknown>>;
  readonly message: string | undefined;
}

/** A logger that keeps its lines for tests to read. */
export function recordingLogger(
  lines: LogLine[] = [],
  bound: Record<string, unknown> = {},
): Logger & { readonly lines: LogLine[] } {
  const at = (level: LogLine["level"]) => (facts: object, message?: string) => {
    lines.push({ level, facts: { ...bound, ...facts }, message });
  };
  return {
    lines,
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (facts) => recordingLogger(lines, { ...bound, ...facts }),
  };
}
