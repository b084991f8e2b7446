import { isJsonObject } from "../envelope.ts";
import { formatFailure } from "./failure.ts";
import { field, lines, listField, textField, toText } from "./fields.ts";
import type { ToolView } from "./tool-view.ts";

/** Formats what was found for a query or read from a page: its text alone, with what it warns of. */
export function formatSearch(view: ToolView): string {
  if (view.failure !== undefined) return formatFailure(view, "Search failed");
  const { data } = view;
  const text = textOf(data);
  const query = queryOf(data);
  const warning = textField(data, "warning");
  return lines(
    view.verbose && query !== "" && `Query: ${query}`,
    text === "" ? `[No results found for query: ${query}]` : text,
    warning !== "" && `[Warning: ${warning}]`,
  );
}

/** Formats a page that was read; like a search, but an empty page is not an empty search. */
export function formatVisit(view: ToolView): string {
  if (view.failure !== undefined) return formatFailure(view, "Visit failed");
  const warning = textField(view.data, "warning");
  return lines(textOf(view.data) || "[The page has no text]", warning !== "" && `[Warning: ${warning}]`);
}

/** Formats one context per query, in the order of the queries. */
export function formatBatchSearch(view: ToolView): string {
  if (view.failure !== undefined) return formatFailure(view, "Search failed");
  const contexts = listField(view.data, "contexts");
  const queries = listField(field(view.data, "inputs"), "queries");
  const errors = field(view.data, "errors");
  const parts = contexts.map((context, index) => {
    const query = textField(context, "query") || toText(queries[index]);
    const text = typeof context === "string" ? context : textOf(context);
    return lines(`[${index + 1}]${query === "" ? "" : ` ${query}`}`, text || `[No results found for query: ${query}]`);
  });
  const failed = isJsonObject(errors) || (Array.isArray(errors) && errors.length > 0);
  if (failed) parts.push(`[Warning: some queries failed: ${toText(errors)}]`);
  return parts.length === 0 ? "[No results found]" : parts.join("\n\n");
}

/** Formats the images that were found, one a line. */
export function formatImageSearch(view: ToolView): string {
  const images = [...listField(view.data, "images"), ...listField(view.data, "result")];
  if (view.failure !== undefined || images.length === 0) return formatSearch(view);
  return images.map((image, index) => `${index + 1}. ${formatImage(image)}`).join("\n");
}

function formatImage(image: unknown): string {
  if (!isJsonObject(image)) return toText(image);
  const title = textField(image, "title");
  const url = textField(image, "image_url") || textField(image, "imageUrl") || textField(image, "url");
  const page = textField(image, "link") || textField(image, "source");
  return url === "" ? toText(image) : lines(`${title} ${url}`.trim(), page !== "" && page !== url && `   from ${page}`);
}

function textOf(data: unknown): string {
  if (typeof data === "string") return data;
  const found = field(data, "context") ?? field(data, "result") ?? field(data, "results") ?? field(data, "text");
  return Array.isArray(found) && found.length === 0 ? "" : toText(found);
}

function queryOf(data: unknown): string {
  const query =
    field(data, "query") ?? field(field(data, "inputs"), "query") ?? field(field(data, "inputs"), "key_words");
  return Array.isArray(query) ? query.map(toText).join("; ") : toText(query);
}
