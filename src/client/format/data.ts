import { formatFailure } from "./failure.ts";
import { textField } from "./fields.ts";
import { formatGeneric } from "./generic.ts";
import { imageBlocks } from "./images.ts";
import { formatSql } from "./sql.ts";
import type { ContentBlock, ToolView } from "./tool-view.ts";

/** Formats what tools on data say as the text that they have it in, with their figures; rows of a query as a table. */
export function formatData(view: ToolView): string | readonly ContentBlock[] {
  if (view.failure !== undefined) return formatFailure(view);
  const text = textField(view.data, "result");
  if (text === "") return Array.isArray(Reflect.get(Object(view.data), "rows")) ? formatSql(view) : formatGeneric(view);
  const images = imageBlocks(view.data);
  return images.length === 0 ? text : [{ type: "text", text }, ...images];
}
