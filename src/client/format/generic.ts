import { isJsonObject } from "../envelope.ts";
import { formatFailure } from "./failure.ts";
import { toText } from "./fields.ts";
import { imageBlocks, withoutImages } from "./images.ts";
import type { ContentBlock, ToolView } from "./tool-view.ts";

const NO_RESULT = "[Done, with nothing to report]";

/** Fields that are a tool's whole answer when they are text. */
const MAIN_FIELDS = ["result", "text", "content", "output", "message"];

/** Formats a tool that nobody wrote a formatter for: its text where it has one, its JSON otherwise, its pictures always. */
export function formatGeneric(view: ToolView): string | readonly ContentBlock[] {
  if (view.failure !== undefined) return formatFailure(view);
  const images = imageBlocks(view.data);
  const text = mainText(images.length > 0 ? withoutImages(view.data) : view.data);
  return images.length === 0 ? text : [{ type: "text", text }, ...images];
}

function mainText(data: unknown): string {
  if (isJsonObject(data)) {
    const facts = Object.entries(data).filter(([, value]) => value !== null && value !== undefined);
    const main = facts.length === 1 ? facts[0] : undefined;
    if (main !== undefined && MAIN_FIELDS.includes(main[0])) return toText(main[1]) || NO_RESULT;
    if (facts.length === 0) return NO_RESULT;
  }
  return toText(data) || NO_RESULT;
}
