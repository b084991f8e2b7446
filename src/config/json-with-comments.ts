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
  const problem = findProblem(plain);
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
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])|(?:true|false|null)(?!\w)/y;

/** Finds the first place where the text stops being JSON; `JSON.parse` itself does not always say where. */
function findProblem(text: string): Problem | undefined {
  let offset = 0;
  const open: { readonly closer: "}" | "]"; readonly keys: Set<string> }[] = [];
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = offset;
    const found = pattern.exec(text)?.[0];
    offset += found?.length ?? 0;
    return found;
  };
  const fail = (wanted: string): Problem => {
    const found = text[offset];
    return {
      offset,
      message: `expected ${wanted}, found ${found === undefined ? "the end of the file" : JSON.stringify(found)}`,
    };
  };
  const openKey = (): Problem | undefined => {
    const start = offset;
    const key = take(STRING);
    if (key === undefined) return fail("a name in double quotes");
    const keys = open.at(-1)?.keys;
    if (keys?.has(key)) return { offset: start, message: `the key ${key} is there twice` };
    keys?.add(key);
    take(SPACE);
    return take(/:/y) === undefined ? fail('":"') : undefined;
  };

  for (let wantsValue = true; ; ) {
    take(SPACE);
    if (wantsValue) {
      const opener = take(/[[{]/y);
      if (opener !== undefined) {
        if (open.length >= MAX_DEPTH) return { offset, message: `it nests deeper than ${MAX_DEPTH}` };
        open.push({ closer: opener === "{" ? "}" : "]", keys: new Set() });
        take(SPACE);
        if (text[offset] === open.at(-1)?.closer) wantsValue = false;
        else if (opener === "{") {
          const problem = openKey();
          if (problem !== undefined) return problem;
        }
        continue;
      }
      if (take(STRING) === undefined && take(SCALAR) === undefined) return fail("a value");
      wantsValue = false;
      continue;
    }
    const inner = open.at(-1);
    if (inner === undefined) return offset === text.length ? undefined : fail("the end of the file");
    if (text[offset] === inner.closer) {
      offset += 1;
      open.pop();
      continue;
    }
    if (take(/,/y) === undefined) return fail(`"," or "${inner.closer}"`);
    take(SPACE);
    wantsValue = true;
    if (inner.closer === "}") {
      const problem = openKey();
      if (problem !== undefined) return problem;
    }
  }
}

function toPosition(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}
