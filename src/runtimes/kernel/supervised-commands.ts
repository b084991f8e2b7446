import type { ExecOptions } from "../../core/runtime.ts";
import type { CommandResult, CommandSpec, SandboxProcess } from "../../core/sandbox-process.ts";
import { CapturedStream } from "./captured-stream.ts";
import { amount, count, type Fields, fields, isFields, nullable, text, wrong } from "./fields.ts";
import type { Operations } from "./operations.ts";
import { parseExit } from "./process-exit.ts";
import { SupervisedProcess } from "./supervised-process.ts";

// More than a frame could hold of both streams.
const MAX_OUTPUT_BYTES = 1024 * 1024;

/** Runs a command to its end, as a child of the supervisor's. */
export async function execute(
  operations: Operations,
  spec: CommandSpec,
  options: ExecOptions,
  defaultOutputBytes: number,
): Promise<CommandResult> {
  const outputBytes = Math.min(spec.outputBytes ?? defaultOutputBytes, MAX_OUTPUT_BYTES);
  const streams = { stdout: new CapturedStream(outputBytes), stderr: new CapturedStream(outputBytes) };
  const operation = operations.begin<CommandResult>(
    "exec",
    { ...toArguments(spec), output_bytes: outputBytes, input: spec.input !== undefined },
    {
      signal: options.signal,
      parse: (value) => parseResult(value, streams),
      onEvent: (event) => {
        if (!isFields(event)) throw wrong("value");
        const stream = streamName(event["stream"]);
        const data = text(event, "text");
        streams[stream].append(data);
        options.onOutput?.(stream, data);
      },
    },
  );
  if (spec.input !== undefined) {
    const { input } = spec;
    void operation.write(input).then(() => operation.fin());
  }
  return operation.result;
}

/** Starts a command that runs on by itself. */
export async function spawn(
  operations: Operations,
  spec: CommandSpec,
  signal: AbortSignal,
): Promise<SupervisedProcess> {
  const takesInput = spec.input !== undefined || spec.keepInput === true;
  const process = await operations.run(
    "spawn",
    { ...toArguments(spec), input: takesInput },
    { signal, parse: (value) => new SupervisedProcess(operations, parseFacts(value)) },
  );
  process.follow();
  if (spec.input !== undefined && spec.input.length > 0) {
    // It may end before it has read all of it, which is its own affair.
    const written = process.write(spec.input).catch(() => {});
    if (spec.keepInput !== true) void written.then(() => process.endInput()).catch(() => {});
  } else if (takesInput && spec.keepInput !== true) {
    await process.endInput();
  }
  return process;
}

/** Lists the processes that the sandbox has. */
export async function listProcesses(operations: Operations, signal: AbortSignal): Promise<readonly SandboxProcess[]> {
  const processes = await operations.run(
    "processes",
    {},
    {
      signal,
      parse: (value) => {
        if (!Array.isArray(value)) throw wrong("value");
        return value.map((facts) => new SupervisedProcess(operations, parseFacts(facts)));
      },
    },
  );
  for (const process of processes) process.follow();
  return processes;
}

function toArguments({ command, cwd, environment, timeoutMs, terminal }: CommandSpec): Fields {
  return {
    command,
    ...(cwd === undefined ? {} : { cwd }),
    ...(environment === undefined ? {} : { environment }),
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
    ...(terminal === undefined ? {} : { terminal: [terminal.columns, terminal.rows] }),
  };
}

function parseFacts(value: unknown): ConstructorParameters<typeof SupervisedProcess>[1] {
  if (!isFields(value)) throw wrong("value");
  const command = value["command"];
  if (!Array.isArray(command) || !command.every((word) => typeof word === "string")) throw wrong("command");
  return {
    id: text(value, "id"),
    pid: count(value, "pid"),
    command,
    startedAt: amount(value, "started_at"),
    exit: nullable(value, "exit", (facts, key) => parseExit(fields(facts, key))),
  };
}

function parseResult(value: unknown, streams: Readonly<Record<"stdout" | "stderr", CapturedStream>>): CommandResult {
  if (!isFields(value)) throw wrong("value");
  const usage = (name: "stdout" | "stderr") => {
    const stream = fields(value, name);
    return { bytes: count(stream, "bytes"), omitted: count(stream, "omitted"), tail: text(stream, "tail") };
  };
  return {
    ...parseExit(value),
    stdout: streams.stdout.finish(usage("stdout")),
    stderr: streams.stderr.finish(usage("stderr")),
    limit: nullable(value, "limit", text),
    durationMs: amount(value, "duration_ms"),
  };
}

function streamName(value: unknown): "stdout" | "stderr" {
  if (value !== "stdout" && value !== "stderr") throw wrong("stream");
  return value;
}
