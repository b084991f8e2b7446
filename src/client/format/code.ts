import { isJsonObject } from "../envelope.ts";
import { formatFailure } from "./failure.ts";
import { field, lines, listField, textField, toText } from "./fields.ts";
import { formatGeneric } from "./generic.ts";
import type { ContentBlock, ToolView } from "./tool-view.ts";

const NO_OUTPUT = "[Command executed successfully with no output]";

/** Formats what code or a command printed, returned and raised. */
export function formatCode(view: ToolView): string | readonly ContentBlock[] {
  if (view.failure !== undefined) return formatFailure(view);
  const { data } = view;
  // Beside those that run something, a code backend has tools that list and restart.
  if (field(data, "stdout") === undefined && field(data, "stderr") === undefined) return formatGeneric(view);
  const returnCode = field(data, "exit_code") ?? field(data, "return_code") ?? field(data, "returncode");
  const hasFailed = typeof returnCode === "number" && returnCode !== 0;
  const body = hasFailed ? formatFailedCommand(data, returnCode) : formatRun(data);
  const shown = listField(data, "results");
  const text = lines(body, ...shown.map(formatDisplay), formatWarnings(data), view.verbose && formatFacts(view));
  const images = shown.flatMap((display) => toPicture(display) ?? []);
  return images.length === 0 ? text : [{ type: "text", text }, ...images];
}

/** What was shown beside the value of the last expression, whose text is there already. */
function formatDisplay(display: unknown): string {
  if (field(display, "is_result") === true || toPicture(display) !== undefined) return "";
  return textField(display, "markdown") || textField(display, "text");
}

/** A picture that models can look at. */
function toPicture(display: unknown): ContentBlock | undefined {
  const image = field(display, "image");
  const [data, mimeType] = [textField(image, "base64"), textField(image, "media_type")];
  return data === "" || mimeType === "image/svg+xml" ? undefined : { type: "image", data, mimeType };
}

function formatFailedCommand(data: unknown, returnCode: number): string {
  const stdout = textField(data, "stdout");
  const stderr = textField(data, "stderr");
  return lines(
    `[Error] Command failed with return code ${returnCode}`,
    formatException(data),
    stderr !== "" && `Error output:\n${stderr.trimEnd()}`,
    stdout !== "" && `Standard output:\n${stdout.trimEnd()}`,
  );
}

function formatRun(data: unknown): string {
  const stderr = textField(data, "stderr").trimEnd();
  const exception = formatException(data);
  const output = lines(
    textField(data, "stdout").trimEnd(),
    formatReturned(data),
    stderr !== "" && `Error output:\n${stderr}`,
    exception,
  );
  return output === "" ? NO_OUTPUT : output;
}

/** What the last expression came to: as the language writes it, or as JSON. */
function formatReturned(data: unknown): string {
  const text = textField(data, "text");
  return text === "" ? toText(field(data, "result")) : text;
}

function formatException(data: unknown): string {
  const error = field(data, "error");
  if (!isJsonObject(error)) return typeof error === "string" && error !== "" ? `[Error] ${error}` : "";
  const line = typeof error["line"] === "number" ? ` (line ${error["line"]})` : "";
  const name = textField(error, "name") || "Error";
  return lines(`[Error] ${name}: ${textField(error, "message")}${line}`, textField(error, "traceback").trimEnd());
}

function formatWarnings(data: unknown): string {
  const warnings: string[] = [];
  if (field(data, "state_lost") === true) {
    warnings.push(
      "[Warning: the interpreter was restarted; variables, imports and functions of earlier runs are gone]",
    );
  }
  const truncated = field(data, "truncated");
  if (truncated === true) warnings.push("[Warning: the output was cut]");
  for (const name of ["stdout", "stderr", "result"]) {
    if (field(truncated, name) !== true) continue;
    const size = field(truncated, `${name}_bytes`);
    warnings.push(`[Warning: ${name} was cut${typeof size === "number" ? `; it had ${size} bytes` : ""}]`);
  }
  return warnings.join("\n");
}

function formatFacts({ data, meta }: ToolView): string {
  const cwd = textField(data, "cwd");
  const memory = field(data, "memory") ?? field(data, "memory_bytes");
  return lines(
    cwd !== "" && `cwd: ${cwd}`,
    typeof meta.execution_time_ms === "number" && `time: ${meta.execution_time_ms.toFixed(1)} ms`,
    memory !== undefined && `memory: ${toText(memory)}`,
    textField(data, "runtime") !== "" && `ran by: ${textField(data, "language")} on ${textField(data, "runtime")}`,
  );
}
