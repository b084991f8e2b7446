import type { GuestError } from "../../core/runtime.ts";

const NAME = "RuntimeError";
const MAX_TRACE_LENGTH = 16 * 1024;

// How the languages' own reports name the message and the line, by the ending of the file: a stack names the deepest line first, and a
// library's lines bear other names.
const REPORTS: Readonly<Record<string, RegExp>> = {
  rs: /panicked at (?:'(?<quoted>.*)', )?\S*main\.rs:(?<line>\d+):\d+:?(?:\n(?<message>.*))?/,
  go: /^panic: (?<message>.*)[^]*?main\.go:(?<line>\d+)/m,
  java: /^Exception in thread "[^"]*" (?<message>.*)[^]*?\(\w+\.java:(?<line>\d+)\)/m,
  rb: /main\.rb:(?<line>\d+):(?:in [`'].*?': )? ?(?<message>.*)/,
  pl: /(?<message>.*) at \S*main\.pl line (?<line>\d+)/,
  php: /(?<message>.*) in \S*main\.php(?::| on line )(?<line>\d+)/,
  lua: /main\.lua:(?<line>\d+): (?<message>.*)/,
};

/** Reads from stderr what a program of a language without a kernel died of; `null` where it says nothing that is known. */
export function findProgramError(file: string, stderr: string): GuestError | null {
  const report = REPORTS[file.slice(file.lastIndexOf(".") + 1)];
  // The end is where a program says what it died of; what it wrote before may be long.
  const end = stderr.slice(-MAX_TRACE_LENGTH);
  const { line, message, quoted } = report?.exec(end)?.groups ?? {};
  if (line === undefined) return null;
  return { name: NAME, message: (quoted ?? message ?? "").trim(), line: Number(line), traceback: end };
}
