import { formatFailure } from "./failure.ts";
import { field, lines, textField } from "./fields.ts";
import { formatGeneric } from "./generic.ts";
import type { ContentBlock, ToolView } from "./tool-view.ts";

/** Formats the five tools without a prefix, which say themselves what a model is to read. */
export function formatPlain(view: ToolView): string {
  if (view.failure !== undefined) return formatFailure(view);
  const { data } = view;
  const error = textField(data, "error");
  return lines(textField(data, "output"), error !== "" && `[Error] ${error}`) || "No output";
}

/** Formats what was read of a file: the text itself, and what is left to read. */
export function formatFile(view: ToolView): string | readonly ContentBlock[] {
  const { data } = view;
  if (view.failure !== undefined || field(data, "encoding") !== "utf-8") return formatGeneric(view);
  const [offset, length] = [field(data, "offset"), field(data, "length")];
  const next = typeof offset === "number" && typeof length === "number" ? offset + length : undefined;
  const cut = field(data, "truncated") === true && `[Warning: there is more; read on from offset ${next}]`;
  return lines(textField(data, "content") || "[The file is empty]", cut);
}
