import type { BrowserActions } from "../backends/browser/actions.ts";
import type { CodeActions } from "../backends/code/actions.ts";
import type { DocActions } from "../backends/doc/actions.ts";
import type { DsActions } from "../backends/ds/actions.ts";
import type { RagActions } from "../backends/rag/actions.ts";
import type { Text2SqlActions } from "../backends/text2sql/actions.ts";
import type { VmActions } from "../backends/vm/actions.ts";
import type { WebActions } from "../backends/web/actions.ts";

/**
 * Maps every action that the compiler knows to its params and result; a plugin's author adds to it.
 *
 * @example
 * ```ts
 * type CounterActions = ActionsOf<Counter, "counter">;
 * declare module "toolyard" { interface ActionMap extends CounterActions {} }
 * ```
 */
export interface ActionMap
  extends BrowserActions, CodeActions, DocActions, DsActions, RagActions, Text2SqlActions, VmActions, WebActions {}

/** The name of an action that the compiler knows. */
export type ActionName = keyof ActionMap;

/** What a caller sends for action `A`; what the schema gives a default is optional. */
export type ActionParams<A extends ActionName> = ActionMap[A]["params"];

/** What action `A` answers. */
export type ActionResult<A extends ActionName> = ActionMap[A]["result"];

/**
 * The arguments after the action, by action: params may be left out when all of them are optional.
 *
 * One mapped type that is indexed, for the cost of checking: a conditional type on the action would be evaluated for
 * every action at every mistyped call.
 */
export type ActionArguments<Options> = {
  readonly [A in ActionName]: Record<never, never> extends ActionMap[A]["params"]
    ? [params?: ActionMap[A]["params"], options?: Options]
    : [params: ActionMap[A]["params"], options?: Options];
};
