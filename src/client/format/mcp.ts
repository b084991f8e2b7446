import { isJsonObject } from "../envelope.ts";
import { formatFailure } from "./failure.ts";
import { listField, textField, toText } from "./fields.ts";
import { formatGeneric } from "./generic.ts";
import type { ContentBlock, ToolView } from "./tool-view.ts";

/** Formats an MCP server's own content blocks: text and images as they are, links and resources by what they name. */
export function formatMcp(view: ToolView): string | readonly ContentBlock[] {
  if (view.failure !== undefined) return formatFailure(view);
  const content = listField(view.data, "content");
  if (content.length === 0) {
    const structured = isJsonObject(view.data) ? view.data["structuredContent"] : undefined;
    return structured === undefined ? formatGeneric(view) : toText(structured);
  }
  const blocks = content.map(toBlock);
  const isError = isJsonObject(view.data) && view.data["isError"] === true;
  return isError ? [{ type: "text", text: "[Error]" }, ...blocks] : blocks;
}

function toBlock(item: unknown): ContentBlock {
  const type = textField(item, "type");
  const data = textField(item, "data");
  const mimeType = textField(item, "mimeType");
  if (type === "image" && data !== "") return { type: "image", data, mimeType: mimeType || "image/png" };
  return { type: "text", text: toBlockText(item, type, mimeType) };
}

function toBlockText(item: unknown, type: string, mimeType: string): string {
  if (type === "text") return textField(item, "text");
  if (type === "audio") return `[audio ${mimeType}]`;
  if (type === "resource_link") return `[resource ${textField(item, "name")} ${textField(item, "uri")}]`;
  const resource = isJsonObject(item) ? item["resource"] : undefined;
  if (resource !== undefined) return textField(resource, "text") || `[resource ${textField(resource, "uri")}]`;
  return toText(item);
}
