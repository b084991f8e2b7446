import stripJsonComments from "strip-json-comments";
import { ConfigError } from "./config-error.ts";

/** How deep a config may nest. */
const MAX_DEPTH = 100;

/**
 * Parses JSON with comments and trailing commas.
 *
 * @throws ConfigError with the line and column of the first mistake
 */
export function parseJsonWithComments(source: string, file: string): unknown {
  const text = source.startsWith("\uFEFF") ? ` ${source.slice(1)}` : source;
  // Blanks stand in for what is taken out, so that positions stay the file's own.
  const plain = stripJsonComments(text, { trailingCommas: true });
  const problem = new Scanner(plain).findProblem();
  if (problem !== undefined) throw new ConfigError({ file, ...toPosition(plain, problem.offset) }, problem.message);
  try {
    return JSON.parse(plain);
  } catch (error) {
    throw new ConfigError({ file }, "it is not JSON", error);
  }
}

interface Problem {
  readonly offset: number;
  readonly message: string;
}

const SPACE = /[ \t\r\n]*/y;
// JSON forbids control characters in strings, so the pattern must name them.
// oxlint-disable-next-line no-control-regex
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])|(?:true|false|null)(?!\w)/y;

/** An object or array that is not closed yet. */
interface Open {
  readonly closer: "}" | "]";
  readonly keys: Set<string>;
}

/** Finds the first place where a text stops being JSON; `JSON.parse` itself does not always say where. */
class Scanner {
  readonly #text: string;
  readonly #open: Open[] = [];
  #offset = 0;

  constructor(text: string) {
    this.#text = text;
  }

  findProblem(): Problem | undefined {
    for (let wantsValue = true; ; ) {
      this.#take(SPACE);
      const inner = this.#open.at(-1);
      if (!wantsValue && inner === undefined) return this.#expectEnd();
      const step: Problem | "value" | "after" = wantsValue ? this.#value() : this.#next(inner);
      if (typeof step === "object") return step;
      wantsValue = step === "value";
    }
  }

  /** Takes a scalar, or what opens an object or array. */
  #value(): Problem | "value" | "after" {
    const opener = this.#take(/[[{]/y);
    if (opener === undefined) {
      return this.#take(STRING) === undefined && this.#take(SCALAR) === undefined ? this.#expected("a value") : "after";
    }
    if (this.#open.length >= MAX_DEPTH) {
      return { offset: this.#offset, message: `it nests deeper than ${MAX_DEPTH}` };
    }
    const open: Open = { closer: opener === "{" ? "}" : "]", keys: new Set() };
    this.#open.push(open);
    this.#take(SPACE);
    if (this.#text[this.#offset] === open.closer) return "after";
    return open.closer === "}" ? this.#key(open) : "value";
  }

  /** Takes what follows a value: the end of what it is in, or a comma. */
  #next(inner: Open | undefined): Problem | "value" | "after" {
    if (inner === undefined) return "after";
    if (this.#text[this.#offset] === inner.closer) {
      this.#offset += 1;
      this.#open.pop();
      return "after";
    }
    if (this.#take(/,/y) === undefined) return this.#expected(`"," or "${inner.closer}"`);
    this.#take(SPACE);
    return inner.closer === "}" ? this.#key(inner) : "value";
  }

  #key({ keys }: Open): Problem | "value" {
    const offset = this.#offset;
    const key = this.#take(STRING);
    if (key === undefined) return this.#expected("a name in double quotes");
    if (keys.has(key)) return { offset, message: `the key ${key} is there twice` };
    keys.add(key);
    this.#take(SPACE);
    return this.#take(/:/y) === undefined ? this.#expected('":"') : "value";
  }

  #expectEnd(): Problem | undefined {
    return this.#offset === this.#text.length ? undefined : this.#expected("the end of the file");
  }

  #expected(wanted: string): Problem {
    const found = this.#text[this.#offset];
    const shown = found === undefined ? "the end of the file" : JSON.stringify(found);
    return { offset: this.#offset, message: `expected ${wanted}, found ${shown}` };
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#offset;
    const found = pattern.exec(this.#text)?.[0];
    this.#offset += found?.length ?? 0;
    return found;
  }
}

function toPosition(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}
