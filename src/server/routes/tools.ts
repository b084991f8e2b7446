import { ToolyardError } from "../../core/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import { toFailure } from "../../engine/failure.ts";
import { type AnyRoute, route } from "../route.ts";

/** What can be called. */
export function toolRoutes({ catalog }: Engine): readonly AnyRoute[] {
  return [
    route({
      method: "get",
      path: "/api/v1/tools",
      access: "key",
      operation: "tools:list",
      summary: "List the tools with their parameter and result schemas",
      description: "`include_hidden=true` adds the hidden ones.",
      enveloped: false,
      handle({ query }) {
        const tools = catalog.list({ includeHidden: toBoolean(query.get("include_hidden")) });
        return { status: 200, body: { tools, count: tools.length } };
      },
    }),
    route({
      method: "get",
      path: "/api/v1/tools/:name/schema",
      access: "key",
      operation: "tools:schema",
      summary: "Describe one tool, by any name that an action may use",
      enveloped: false,
      statuses: { 404: "There is no such tool, or the name is ambiguous" },
      handle({ path }) {
        try {
          return { status: 200, body: catalog.describe(catalog.resolve(path["name"] ?? "")) };
        } catch (error) {
          if (!ToolyardError.is(error)) throw error;
          const { message, suggestion, details } = toFailure(error);
          return { status: 404, body: { status: "error", message, suggestion, ...details } };
        }
      },
    }),
  ];
}

/** Takes Python's `True` as well.  */
function toBoolean(text: string | null): boolean {
  if (text === null) return false;
  const lower = text.toLowerCase();
  if (["true", "1", "yes", "on"].includes(lower)) return true;
  if (["false", "0", "no", "off", ""].includes(lower)) return false;
  throw new ToolyardError("unprocessable", "include_hidden takes true or false");
}
