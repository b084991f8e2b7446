import { nearNames } from "../core/near-names.ts";

/** Ends an error message with what a mistyped name most likely meant: ` (did you mean "port"?)`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const [near] = nearNames(name, known);
  return near === undefined ? "" : ` (did you mean "${near}"?)`;
}
