import type { Outcome } from "../../core/errors.ts";

const WORST_FIRST = ["infra_error", "limit", "tool_error", "rejected"] as const;

/** Says whose failure a sum of several is: the worst of its parts', so that the server's own is never the model's. */
export function sumOutcome(outcomes: readonly Outcome[]): { readonly outcome?: Exclude<Outcome, "ok"> } {
  const outcome = WORST_FIRST.find((worst) => outcomes.includes(worst));
  return outcome === undefined ? {} : { outcome };
}
