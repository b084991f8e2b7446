import type { Backend } from "./backend.ts";
import type { CallerInput } from "./tool.ts";

type ToolName<S extends string> = S extends `${infer Head}${infer Tail}`
  ? Head extends Lowercase<Head>
    ? `${Head}${ToolName<Tail>}`
    : `_${Lowercase<Head>}${ToolName<Tail>}`
  : "";

type FullName<Resource extends string, Method, Names> = Method extends keyof Names
  ? Names[Method] & string
  : Method extends string
    ? `${Resource}:${ToolName<Method>}`
    : never;

/** What a caller sends and receives for one action. */
export interface Action<P = unknown, R = unknown> {
  readonly params: P;
  readonly result: R;
}

type ActionOf<M> = M extends (...args: infer A) => infer R
  ? Action<A extends [infer P, ...unknown[]] ? CallerInput<P> : Readonly<Record<string, never>>, Awaited<R>>
  : never;

/**
 * Maps a backend class to its actions: every public method that is not part of the contract is a tool.
 *
 * `Names` gives the full names of the methods whose `@tool` has an explicit `name`.
 *
 * @example
 * ```ts
 * type VmActions = ActionsOf<Vm, "vm">;
 * declare module "toolyard" { interface ActionMap extends VmActions {} }
 * ```
 */
export type ActionsOf<B, Resource extends string, Names = Record<never, string>> = {
  readonly [M in Exclude<keyof B, keyof Backend> as B[M] extends (...args: never[]) => unknown
    ? FullName<Resource, M, Names>
    : never]: ActionOf<B[M]>;
};
