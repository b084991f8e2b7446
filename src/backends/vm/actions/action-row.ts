import type { ActionName, ActionOf } from "./action.ts";
import type { ActionDone, Operator } from "./operator.ts";

/** How one action is done, and what it comes to. */
export type Row<N extends ActionName> = (
  action: ActionOf<N>,
  operator: Operator,
  signal: AbortSignal,
) => Promise<Omit<ActionDone, "action"> | void>;

/** A part of the table of actions. */
export type Rows<N extends ActionName> = { readonly [K in N]: Row<K> };
