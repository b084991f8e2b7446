import type { ProcessExit } from "../../core/sandbox-process.ts";
import { flag, integer, isFields, nullable, text, wrong } from "./fields.ts";

/** Checks how a process ended, as the sandbox tells it. @throws ProtocolViolation */
export function parseExit(value: unknown): ProcessExit {
  if (!isFields(value)) throw wrong("value");
  return {
    exitCode: nullable(value, "exit_code", integer),
    signal: nullable(value, "signal", text),
    timedOut: flag(value, "timed_out"),
  };
}
