import { field, lines, listField, textField, toText } from "./fields.ts";
import type { ToolView } from "./tool-view.ts";

/** How many failures of items are shown. */
const MAX_ITEMS = 20;

/**
 * Says what failed and what to do next, of several items for each.
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
    ...itemFailures(data),
    stderr !== "" && `Error output:\n${stderr}`,
    stdout !== "" && `Standard output:\n${stdout}`,
    verbose &&
      failure !== undefined &&
      `(${tool}, ${failure.error}, code ${failure.code}, trace ${meta.trace_id ?? "-"})`,
  );
}

/** What `errors` or `documents` say of the items that failed, a line each. */
function itemFailures(data: unknown): string[] {
  const items = [...listField(data, "errors"), ...listField(data, "documents")];
  const said = items.flatMap((item) => {
    const name = textField(item, "error") || textField(item, "name");
    const message = textField(item, "message");
    if (name === "" || message === "") return [];
    const which = toText(field(item, "id") ?? field(item, "index"));
    return [`- ${which === "" ? "" : `${which}: `}${message} (${name})`];
  });
  const more = said.length - MAX_ITEMS;
  return more > 0 ? [...said.slice(0, MAX_ITEMS), `- and ${more} more`] : said;
}
