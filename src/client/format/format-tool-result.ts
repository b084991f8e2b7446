import { ResultFormatter } from "./result-formatter.ts";
import type { ContentBlock, FormatOptions, Formattable, ToolFormatter } from "./tool-view.ts";

const shared = new ResultFormatter();

/** Formats an envelope, or what `call` returned, as text for a model; never throws, whatever the tool. */
export function formatToolResult(result: Formattable, options: FormatOptions = {}): string {
  return shared.format(result, options);
}

/** Formats an envelope, or what `call` returned, as text and image blocks for a model. */
export function toContentBlocks(result: Formattable, options: FormatOptions = {}): readonly ContentBlock[] {
  return shared.toContentBlocks(result, options);
}

/**
 * Adds a formatter for the whole process, by full name (`my:tool`), prefix (`my:*`) or resource.
 *
 * A {@link ResultFormatter} of one's own keeps it to one place.
 */
export function registerFormatter(key: string, formatter: ToolFormatter): void {
  shared.register(key, formatter);
}
