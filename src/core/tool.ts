import "reflect-metadata";
import { z } from "zod";
import type { CallerKind } from "./caller.ts";
import type { ToolContext } from "./context.ts";

/** Hints for callers, with the meaning they have in MCP. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  /** Repeating the call with the same params has no further effect: it may be retried after a crash. */
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** Everything that `@tool` says of a method. */
export interface ToolOptions<P extends z.ZodType = z.ZodType> {
  /** What the tool does, for the model. */
  readonly description: string;
  /** An object schema; no params by default. */
  readonly params?: P;
  /** The shape of the result, for listings; checked in development and tests, not on the hot path. */
  readonly result?: z.ZodType;
  /** Milliseconds; the server's default by default, and its maximum applies. */
  readonly timeoutMs?: number;
  readonly annotations?: ToolAnnotations;
  /** Who may call it; `["direct"]` by default. */
  readonly allowedCallers?: readonly CallerKind[];
  /**
   * Overrides the name that the method gives (`doubleClick` → `double_click`). One with a `:` is a full name under
   * another prefix; one without, on a backend that has no sessions or with `bare`, is a full name without a prefix.
   */
  readonly name?: string;
  /** Makes a `name` without a prefix a full one on a backend with sessions too; its calls run in the backend's session. */
  readonly bare?: boolean;
  /** Left out of listings unless asked for; still callable. */
  readonly hidden?: boolean;
}

/** What `@tool` keeps on the method. */
export interface ToolDefinition extends ToolOptions {
  readonly params: z.ZodType;
  readonly annotations: ToolAnnotations;
  readonly allowedCallers: readonly CallerKind[];
  readonly hidden: boolean;
}

/** A tool tied to its backend: what the catalogue holds. */
export interface BoundTool {
  readonly definition: ToolDefinition;
  /** The name by the method, or the override: `double_click`, `bash:run`, `echo`. */
  readonly name: string;
  /** Whether the name is an explicit override. */
  readonly renamed: boolean;
  invoke(params: unknown, context: ToolContext<never>): unknown;
}

declare const callerInput: unique symbol;

/** The params that a tool's method receives; carries what a caller may send (defaults optional) for {@link ActionsOf}. */
export type Input<S extends z.ZodType> = z.output<S> & { readonly [callerInput]?: z.input<S> };

/** What a caller may send for params of type `P`. */
export type CallerInput<P> = P extends { readonly [callerInput]?: infer I } ? NonNullable<I> : P;

const DEFINITION = Symbol.for("toolyard.tool");
const NO_PARAMS = z.strictObject({});

type Method<P> = (params: P, context: never) => unknown;

/**
 * Marks a method of a backend as a tool.
 *
 * Accepts both decorator call shapes, TypeScript's `experimentalDecorators` and TC39's.
 *
 * @example
 * ```ts
 * const Click = z.strictObject({ x: z.int(), y: z.int(), button: z.enum(["left", "right"]).default("left") });
 *
 * class Vm extends Backend<Display> {
 *   readonly resource = "vm";
 *   @tool({ description: "Click at a point.", params: Click })
 *   async click({ x, y, button }: Input<typeof Click>, { session }: ToolContext<Display>) { … }
 * }
 * ```
 */
export function tool<P extends z.ZodType = typeof NO_PARAMS>(options: ToolOptions<P>) {
  const definition: ToolDefinition = {
    ...options,
    params: options.params ?? NO_PARAMS,
    annotations: options.annotations ?? {},
    allowedCallers: options.allowedCallers ?? ["direct"],
    hidden: options.hidden ?? false,
  };
  return <M extends Method<z.output<P>>>(
    target: object,
    _key: string | symbol | object,
    descriptor?: TypedPropertyDescriptor<M>,
  ): void => {
    // Legacy decorators pass (prototype, key, descriptor); TC39 ones pass (method, context).
    const method = descriptor === undefined ? target : descriptor.value;
    if (typeof method !== "function") throw new TypeError("@tool goes on a method");
    Reflect.defineMetadata(DEFINITION, definition, method);
  };
}

/** Turns a method's name into a tool's: `doubleClick` → `double_click`. */
export function toToolName(method: string): string {
  return method.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Finds the decorated methods of a backend, and of objects that hold a part of its tools, nearest class first; an override
 * without `@tool` keeps its tool's definition.
 *
 * @throws TypeError when two methods are one tool.
 */
export function scanTools(...owners: readonly object[]): ReadonlyMap<string, BoundTool> {
  const tools = new Map<string, BoundTool>();
  for (const owner of owners) addTools(tools, owner);
  return tools;
}

function addTools(tools: Map<string, BoundTool>, owner: object): void {
  const seen = new Set<string>();
  for (
    let level = Object.getPrototypeOf(owner);
    level !== null && level !== Object.prototype;
    level = Object.getPrototypeOf(level)
  ) {
    for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (key === "constructor" || seen.has(key) || typeof property.value !== "function") continue;
      const definition: ToolDefinition | undefined = Reflect.getOwnMetadata(DEFINITION, property.value);
      if (definition === undefined) continue;
      seen.add(key);
      const name = definition.name ?? toToolName(key);
      if (tools.has(name)) throw new TypeError(`two methods of ${owner.constructor.name} are the tool "${name}"`);
      const method: unknown = Reflect.get(owner, key);
      if (typeof method !== "function") continue;
      tools.set(name, {
        definition,
        name,
        renamed: definition.name !== undefined,
        invoke: (params, context) => Reflect.apply(method, owner, [params, context]),
      });
    }
  }
}
