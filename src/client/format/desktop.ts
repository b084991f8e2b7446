import { formatFailure } from "./failure.ts";
import { textField, toText } from "./fields.ts";
import { formatGeneric } from "./generic.ts";
import { imageBlocks } from "./images.ts";
import type { ContentBlock, ToolView } from "./tool-view.ts";

/** What an answer has that shows the desktop; others tell their own facts. */
const SHOWS = ["accessibility_tree", "image"];

/** Formats a desktop's answer: what can be seen by now, as its accessibility tree and its picture. */
export function formatDesktop(view: ToolView): string | readonly ContentBlock[] {
  if (view.failure !== undefined) return formatFailure(view);
  const images = imageBlocks(view.data);
  if (images.length === 0 && !showsDesktop(view.data)) return formatGeneric(view);
  const tree = textField(view.data, "accessibility_tree") || toText(treeOf(view.data));
  if (tree === "" && images.length > 0 && view.showsImages) return images;
  return [{ type: "text", text: tree === "" ? "[No accessibility tree]" : tree }, ...images];
}

function showsDesktop(data: unknown): boolean {
  return typeof data === "object" && data !== null && SHOWS.some((field) => field in data);
}

function treeOf(data: unknown): unknown {
  return typeof data === "object" && data !== null && "accessibility_tree" in data
    ? data.accessibility_tree
    : undefined;
}
