import { ToolyardError } from "./errors.ts";

/** What may be done on a resource: call its tools, make and end sessions, look, or run the server. */
export const VERBS = ["execute", "session", "read", "admin"] as const;

export type Verb = (typeof VERBS)[number];

/** The resource that stands for the server itself: its keys, its audit trail, its end. */
export const SERVER_RESOURCE = "server";

const PATTERN = /^(\*|[a-zA-Z][a-zA-Z0-9_-]{0,63}):(\*|execute|session|read|admin)$/;

/** Whether a text is a scope: `*`, or `resource:verb` with `*` on either side. */
export function isScope(text: string): boolean {
  return text === "*" || PATTERN.test(text);
}

/**
 * The powers of one API key. `execute`, `session` and `admin` on a resource include `read` of it.
 *
 * Patterns that are no scopes grant nothing.
 */
export class Scopes {
  readonly patterns: readonly string[];
  readonly #granted: ReadonlySet<string>;

  constructor(patterns: readonly string[]) {
    this.patterns = patterns;
    this.#granted = new Set(patterns.filter(isScope).flatMap(expand));
  }

  /** Whether the verb is granted on the resource; `*` asks for all resources at once. */
  allows(verb: Verb, resource: string): boolean {
    return this.#granted.has(`${resource}:${verb}`) || this.#granted.has(`*:${verb}`);
  }

  /** Whether the verb is granted on any resource at all. */
  allowsSome(verb: Verb): boolean {
    return this.#granted.has(`:${verb}`);
  }
}

/** Spells a pattern out as one grant for each verb, and one more that says that the verb is granted somewhere. */
function expand(pattern: string): readonly string[] {
  const [resource = "*", verb = "*"] = pattern === "*" ? [] : pattern.split(":");
  const verbs = verb === "*" ? VERBS : [verb, "read"];
  return verbs.flatMap((granted) => [`${resource}:${granted}`, `:${granted}`]);
}

/** Says which scope is missing. */
export function outOfScope(verb: Verb, resource: string): ToolyardError {
  const scope = `${resource}:${verb}`;
  const narrow = `Use a key with ${verb} on the resource that is meant, such as code:${verb}.`;
  return new ToolyardError("forbidden", `The API key's scopes do not cover ${scope}`, {
    details: { scope },
    suggestion: resource === "*" ? narrow : `Use a key with the scope ${scope}.`,
  });
}
