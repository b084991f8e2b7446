import { ConfigError, toKey } from "./config-error.ts";

/** The environment that placeholders read. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A config after its placeholders are filled in. */
export interface Expanded {
  readonly value: unknown;
  /** The keys whose whole value was one placeholder: text that may stand for a number or a boolean. */
  readonly placeholders: ReadonlySet<string>;
}

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;

/** A placeholder that has neither a value nor a default. */
class UnsetVariable {
  readonly variable: string;
  constructor(variable: string) {
    this.variable = variable;
  }
}

/**
 * Fills in `${VAR}` and `${VAR:-default}` in every string value.
 *
 * A default stands in for a variable that is unset or empty and may hold placeholders itself; `$${` writes a plain `${`.
 * An entry with `enabled: false`, and one whose name starts with `_`, may name variables that are unset.
 *
 * @throws ConfigError that names the file, the key and the variable
 */
export function expandPlaceholders(value: unknown, environment: Environment, file: string): Expanded {
  const placeholders = new Set<string>();

  const expandText = (text: string, path: readonly PropertyKey[], strict: boolean): string => {
    try {
      const { text: expanded, whole } = expandString(text, environment);
      if (whole) placeholders.add(toKey(path));
      return expanded;
    } catch (error) {
      if (!(error instanceof UnsetVariable)) throw error;
      if (!strict) return text;
      throw new ConfigError(
        { file, key: toKey(path) },
        `the environment variable ${error.variable} is not set; set it, or give a default: \${${error.variable}:-…}`,
      );
    }
  };

  const walk = (node: unknown, path: readonly PropertyKey[], strict: boolean): unknown => {
    if (typeof node === "string") return expandText(node, path, strict);
    if (Array.isArray(node)) return node.map((item, index) => walk(item, [...path, index], strict));
    if (typeof node !== "object" || node === null) return node;
    const off = "enabled" in node && isOff(walk(node.enabled, [...path, "enabled"], strict));
    return Object.fromEntries(
      Object.entries(node).map(([key, child]) => {
        if (key === "__proto__") throw new ConfigError({ file, key: toKey(path) }, "no key may be __proto__");
        return [key, walk(child, [...path, key], strict && !off && !key.startsWith("_"))];
      }),
    );
  };

  return { value: walk(value, [], true), placeholders };
}

function isOff(enabled: unknown): boolean {
  return enabled === false || enabled === "false";
}

/**
 * Fills in the placeholders of one text; what does not look like a placeholder stays as it is.
 *
 * @throws UnsetVariable
 */
function expandString(text: string, environment: Environment): { text: string; whole: boolean } {
  let expanded = "";
  let offset = 0;
  let whole = false;
  while (offset < text.length) {
    const start = text.indexOf("${", offset);
    if (start === -1) break;
    if (text[start - 1] === "$" && start > offset) {
      expanded += `${text.slice(offset, start - 1)}\${`;
      offset = start + 2;
      continue;
    }
    const placeholder = readPlaceholder(text, start);
    if (placeholder === undefined) {
      expanded += text.slice(offset, start + 2);
      offset = start + 2;
      continue;
    }
    expanded += text.slice(offset, start) + resolve(placeholder, environment);
    whole = start === 0 && placeholder.end === text.length;
    offset = placeholder.end;
  }
  return { text: expanded + text.slice(offset), whole };
}

interface Placeholder {
  readonly variable: string;
  readonly fallback: string | undefined;
  /** The offset after the closing brace. */
  readonly end: number;
}

function readPlaceholder(text: string, start: number): Placeholder | undefined {
  NAME.lastIndex = start + 2;
  const variable = NAME.exec(text)?.[0];
  if (variable === undefined) return undefined;
  const after = start + 2 + variable.length;
  if (text[after] === "}") return { variable, fallback: undefined, end: after + 1 };
  if (!text.startsWith(":-", after)) return undefined;
  let depth = 1;
  for (let offset = after + 2; offset < text.length; offset++) {
    if (text[offset] === "{") depth += 1;
    else if (text[offset] === "}" && --depth === 0) {
      return { variable, fallback: text.slice(after + 2, offset), end: offset + 1 };
    }
  }
  return undefined;
}

function resolve({ variable, fallback }: Placeholder, environment: Environment): string {
  const value = Object.hasOwn(environment, variable) ? environment[variable] : undefined;
  if (fallback === undefined) {
    if (value === undefined) throw new UnsetVariable(variable);
    return value;
  }
  return value === undefined || value === "" ? expandString(fallback, environment).text : value;
}
