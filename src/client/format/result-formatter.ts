import { formatFile, formatPlain } from "./box.ts";
import { formatCode } from "./code.ts";
import { formatData } from "./data.ts";
import { formatDesktop } from "./desktop.ts";
import { toText } from "./fields.ts";
import { formatGeneric } from "./generic.ts";
import { formatMcp } from "./mcp.ts";
import { formatBatch, formatOperation } from "./operations.ts";
import { formatBatchSearch, formatImageSearch, formatSearch, formatVisit } from "./search.ts";
import { formatSql } from "./sql.ts";
import {
  type ContentBlock,
  type FormatOptions,
  type Formattable,
  type ToolFormatter,
  toToolView,
} from "./tool-view.ts";

/** Formatters by full name (`rag:stats`), by prefix (`mcp:*`) and by resource (`code`), tried in this order. */
const BUILT_IN: Readonly<Record<string, ToolFormatter>> = {
  "batch:execute": formatBatch,
  "session:*": formatOperation,
  "init:*": formatOperation,
  "code:*": formatCode,
  "bash:*": formatCode,
  code: formatCode,
  execute_command: formatPlain,
  read_file: formatPlain,
  write_file: formatPlain,
  list_files: formatPlain,
  run_code: formatPlain,
  "file:read": formatFile,
  "file:*": formatGeneric,
  "sandbox:*": formatGeneric,
  "terminal:*": formatGeneric,
  "vm:*": formatDesktop,
  vm: formatDesktop,
  "rag:search": formatSearch,
  "rag:batch_search": formatBatchSearch,
  "rag:stats": formatGeneric,
  "web:search": formatSearch,
  "web:visit": formatVisit,
  "web:image_search": formatImageSearch,
  "web:reverse_image_search": formatImageSearch,
  "doc:*": formatSearch,
  "ds:*": formatData,
  "text2sql:*": formatSql,
  "sql:*": formatSql,
  "mcp:*": formatMcp,
  mcp: formatMcp,
};

/**
 * Turns results into text, or into content blocks, for a model.
 *
 * @example
 * ```ts
 * const formatter = new ResultFormatter({ "weather:now": ({ data }) => `It is ${field(data)}.` });
 * formatter.format(await sandbox.call("weather:now"));
 * ```
 */
export class ResultFormatter {
  readonly #formatters: Map<string, ToolFormatter>;

  /** @param formatters by full name, prefix (`my:*`) or resource; they win over the built-in ones of the same key. */
  constructor(formatters: Readonly<Record<string, ToolFormatter>> = {}) {
    this.#formatters = new Map([...Object.entries(BUILT_IN), ...Object.entries(formatters)]);
  }

  /** Adds a formatter, or replaces the one of the same key. */
  register(key: string, formatter: ToolFormatter): void {
    this.#formatters.set(key, formatter);
  }

  /** Formats a result as text; of an answer that is only images, it says so. Never throws, whatever the tool. */
  format(result: Formattable, options: FormatOptions = {}): string {
    const texts = this.#toBlocks(result, options, false).flatMap((block) => (block.type === "text" ? block.text : []));
    return texts.length === 0 ? "[image]" : texts.join("\n");
  }

  /** Formats a result as text and image blocks; never empty, and never throws. */
  toContentBlocks(result: Formattable, options: FormatOptions = {}): readonly ContentBlock[] {
    return this.#toBlocks(result, options, true);
  }

  #toBlocks(result: unknown, options: FormatOptions, showsImages: boolean): readonly ContentBlock[] {
    // Anything may stand inside a batch; `toToolView` takes it as it comes.
    const nested = (inner: unknown) => this.format(inner as Formattable, options);
    const view = toToolView(result, { verbose: options.verbose ?? false, showsImages, nested });
    try {
      const formatter = this.#choose(view.tool, view.meta.resource_type ?? undefined);
      return toBlocks(formatter(view));
    } catch (error) {
      // A formatter's bug must not cost the model the result.
      const note = error instanceof Error ? error.message : String(error);
      return [{ type: "text", text: `${toText(view.data)}\n[Warning: the formatter of ${view.tool} failed: ${note}]` }];
    }
  }

  #choose(tool: string, resource: string | undefined): ToolFormatter {
    const prefix = tool.includes(":") ? `${tool.slice(0, tool.indexOf(":"))}:*` : "";
    return (
      this.#formatters.get(tool) ??
      this.#formatters.get(prefix) ??
      (resource === undefined
        ? undefined
        : (this.#formatters.get(`${resource}:*`) ?? this.#formatters.get(resource))) ??
      formatGeneric
    );
  }
}

function toBlocks(formatted: string | readonly ContentBlock[]): readonly ContentBlock[] {
  if (typeof formatted === "string") return [{ type: "text", text: formatted }];
  return formatted.length === 0 ? [{ type: "text", text: "" }] : formatted;
}
