import { randomUUID } from "node:crypto";
import { ToolyardError } from "../../core/errors.ts";
import type { CommandResult } from "../../core/sandbox-process.ts";
import type { Able } from "./ability.ts";
import type { RunResult } from "./code-schemas.ts";
import { COMPILED_LANGUAGES, type CompiledLanguage, type CompiledLanguageName } from "./compiled-languages.ts";
import { findProgramError } from "./program-error.ts";
import type { CodeContext } from "./session.ts";

/** Code of a language that has no kernel. */
export interface CompiledRun {
  readonly language: CompiledLanguageName;
  readonly code: string;
  readonly timeoutMs?: number | undefined;
  readonly maxTimeoutMs: number;
}

const LOOK_MS = 10_000;

/**
 * Compiles code and runs the program in the session's box. What the compiler refuses is a value, as what code raises is.
 *
 * @throws ToolyardError `runtime_unavailable` when the image lacks the compiler; `timeout` and `limit_exceeded` with the output.
 */
export async function runCompiled(run: CompiledRun, context: CodeContext): Promise<RunResult> {
  const { language, code } = run;
  const { sandboxes, timeoutMs: defaultMs } = context.session.data;
  const { signal } = context;
  const box = sandboxes.able("exec");
  const { files } = sandboxes.able("files");
  const recipe: CompiledLanguage = COMPILED_LANGUAGES[language];
  await requirePrograms(language, recipe, box, signal);
  const wantedMs = Math.min(run.timeoutMs ?? defaultMs, run.maxTimeoutMs, Math.floor(context.timeLeftMs));
  const endsAt = performance.now() + wantedMs;
  const timeoutMs = () => Math.max(1, endsAt - performance.now());
  const folder = `/workspace/.toolyard-${randomUUID()}`;
  const file = typeof recipe.file === "string" ? recipe.file : recipe.file(code);
  try {
    await files.write(`${folder}/${file}`, Buffer.from(code, "utf8"), {}, signal);
    const facts = { language, runtime: box.runtime, timeoutMs: wantedMs };
    if (recipe.compile !== undefined) {
      const compiled = await box.exec(
        { command: recipe.compile(file), cwd: folder, timeoutMs: timeoutMs() },
        { signal },
      );
      if (compiled.exitCode !== 0) return toResult(compiled, { ...facts, file });
    }
    const done = await box.exec(
      { command: recipe.run(folder, file), timeoutMs: timeoutMs() },
      { signal, onOutput: (stream, text) => context.output(stream, text) },
    );
    return toResult(done, { ...facts, ran: file });
  } finally {
    await files.remove(folder, { recursive: true }, AbortSignal.timeout(LOOK_MS)).catch(() => false);
  }
}

async function requirePrograms(
  language: string,
  { programs, packages }: CompiledLanguage,
  box: Able<"exec">,
  signal: AbortSignal,
): Promise<void> {
  const look = `for name in "$@"; do command -v "$name" >/dev/null || exit 1; done`;
  const { exitCode } = await box.exec(
    { command: ["sh", "-c", look, "sh", ...programs], timeoutMs: LOOK_MS },
    { signal },
  );
  if (exitCode === 0) return;
  throw new ToolyardError(
    "runtime_unavailable",
    `${language} cannot run here: the sandbox has no ${programs.join(" or no ")}`,
    {
      details: { language, programs },
      suggestion:
        box.image === undefined
          ? `Install it on the machine: apt-get install ${packages}`
          : `Use an image that has it: toolyard images build code --packages "${packages}"`,
    },
  );
}

interface Facts {
  readonly language: CompiledLanguageName;
  readonly runtime: string;
  readonly timeoutMs: number;
  /** What was compiled, where this is what the compiler came to. */
  readonly file?: string;
  /** What was run, where the program is what ended. */
  readonly ran?: string;
}

function toResult(done: CommandResult, { language, runtime, timeoutMs, file, ran = "" }: Facts): RunResult {
  const { stdout, stderr, exitCode, signal, durationMs } = done;
  const details = { stdout: stdout.text, stderr: stderr.text, state_lost: false, duration_ms: durationMs };
  if (done.timedOut) {
    throw new ToolyardError("timeout", `the code did not end within ${timeoutMs} ms`, {
      details: { limit: "timeout", timeout_ms: timeoutMs, ...details },
    });
  }
  if (done.limit !== null) {
    throw new ToolyardError("limit_exceeded", `the code met the limit "${done.limit}"`, {
      details: { limit: done.limit, ...details },
    });
  }
  return {
    language,
    runtime,
    kernel: language,
    stdout: stdout.text,
    stderr: stderr.text,
    result: null,
    text: null,
    lossy: [],
    results: [],
    results_omitted: 0,
    error: file === undefined ? toError(done, ran) : toCompileError(file, stderr.text || stdout.text),
    exit_code: exitCode,
    signal,
    truncated: {
      stdout: stdout.truncated,
      stderr: stderr.truncated,
      result: false,
      stdout_bytes: stdout.bytes,
      stderr_bytes: stderr.bytes,
    },
    execution_count: 1,
    duration_ms: durationMs,
    state_lost: false,
  };
}

/** A program's exit code is its own to choose; a signal is not. */
function toError({ signal, stderr, exitCode }: CommandResult, file: string): RunResult["error"] {
  if (signal === null) return exitCode === 0 ? null : findProgramError(file, stderr.text);
  return { name: "ProgramKilled", message: `the program was killed by ${signal}`, traceback: stderr.text };
}

function toCompileError(file: string, said: string): RunResult["error"] {
  const lines = said.split("\n");
  const place = lines.map((line) => new RegExp(`${file.replace(".", "\\.")}:(\\d+)`).exec(line)?.[1]).find(Boolean);
  const message =
    lines.find((line) => /error/i.test(line)) ?? lines.find((line) => line !== "") ?? "it was not compiled";
  return {
    name: "CompileError",
    message: message.trim(),
    ...(place === undefined ? {} : { line: Number(place) }),
    traceback: said,
  };
}
