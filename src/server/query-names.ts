import { ToolyardError } from "../core/errors.ts";
import { nearNames } from "../core/near-names.ts";
import type { AnyRoute } from "./route.ts";

/** How much of an unknown name is shown, in characters. */
const MAX_SHOWN = 40;

/**
 * Refuses a query that says more than its route hears: a filter of a wrong name would let everything through.
 *
 * @throws ToolyardError invalid_input for a parameter that there is not, or one given twice.
 */
export function checkQueryNames({ queryNames, ticketPurpose }: AnyRoute, query: URLSearchParams): void {
  if (queryNames === undefined) return;
  const names = [...Object.keys(queryNames), ...(ticketPurpose === undefined ? [] : ["ticket"])];
  for (const name of query.keys()) {
    if (!names.includes(name)) throw unknownChoice("parameter", name, names);
    // One that must be there is the handler's to read, whose error says more.
    if (queryNames[name] !== true && query.getAll(name).length > 1)
      throw new ToolyardError("invalid_input", `${name} is given twice`);
  }
}

/** Says that something is none of those that there are, and which come near. */
export function unknownChoice(what: string, given: string, names: readonly string[]): ToolyardError {
  const shown = given.slice(0, MAX_SHOWN);
  const near = nearNames(shown, names);
  const hint = near.length > 0 ? `; did you mean ${near.join(", ")}?` : "";
  return new ToolyardError("invalid_input", `There is no ${what} ${JSON.stringify(shown)}${hint}`, {
    details: { near },
    suggestion: names.length === 0 ? "Leave it out." : `Use one of ${names.join(", ")}.`,
  });
}
