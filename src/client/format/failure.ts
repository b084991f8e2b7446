import { lines, textField } from "./fields.ts";
import type { ToolView } from "./tool-view.ts";

/**
 * Says what failed and what to do next.
 *
 * Output that the tool had made until then is part of it: a model that ran out of time wants to see how far it came.
 */
export function formatFailure({ tool, data, failure, meta, verbose }: ToolView, label = "Error"): string {
  const what = failure?.message ?? "the call failed";
  const stdout = textField(data, "stdout");
  const stderr = textField(data, "stderr");
  return lines(
    `[${label}] ${what}`,
    failure?.suggestion,
    stderr !== "" && `Error output:\n${stderr}`,
    stdout !== "" && `Standard output:\n${stdout}`,
    verbose &&
      failure !== undefined &&
      `(${tool}, ${failure.error}, code ${failure.code}, trace ${meta.trace_id ?? "-"})`,
  );
}
