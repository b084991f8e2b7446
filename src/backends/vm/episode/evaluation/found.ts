/** What a getter found: JSON (a text is one), a file, or nothing where something was to be. Crosses threads as it is. */
export type Found =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "file"; readonly name: string; readonly bytes: Uint8Array; readonly sheet?: string | number }
  | { readonly kind: "missing"; readonly reason: string };

/** The evaluator itself is wrong: not a score but an error of its author. */
export class EvaluatorMistake extends Error {}

/** What the agent left cannot be read as what it is to be: a score of 0 with this reason. */
export class UnreadableResult extends Error {}

/** Which side a value is on: what cannot be read is the agent's doing there and the author's here. */
export type Side = "result" | "expected";

export function unreadable(side: Side, reason: string): Error {
  return side === "result" ? new UnreadableResult(reason) : new EvaluatorMistake(`expected: ${reason}`);
}
