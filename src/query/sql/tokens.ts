/** Whose spelling a text of SQL is in. */
export type Dialect = "sqlite" | "duckdb" | "postgres";

/** A piece of SQL; comments and white space are none. */
export interface Token {
  /** `name` is a quoted identifier, whose `text` is what it means. */
  readonly kind: "word" | "name" | "string" | "number" | "mark";
  /** Of a word as it stands, of a mark its one character. */
  readonly text: string;
  /** How many parentheses it is inside of. */
  readonly depth: number;
  readonly start: number;
  readonly end: number;
}

const SPACE = /[\s\u00a0\ufeff]/;
const WORD_START = /[\p{L}_\u0080-\u{10ffff}]/u;
const WORD = /[\p{L}\p{N}_$\u0080-\u{10ffff}]*/uy;
const NUMBER = /(?:0[xX][0-9a-fA-F_]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][+-]?\d+)?)/y;
const DOLLAR_TAG = /\$(?:[A-Za-z_\u0080-\u{10ffff}][\w\u0080-\u{10ffff}]*)?\$/uy;

/** Cuts SQL into pieces as its engine does; what is not closed ends with the text. */
export function tokenize(sql: string, dialect: Dialect): Token[] {
  const tokens: Token[] = [];
  let depth = 0;
  let at = 0;
  while (at < sql.length) {
    const character = String.fromCodePoint(sql.codePointAt(at) ?? 0);
    const skipped = skipBlank(sql, at, dialect);
    if (skipped > at) {
      at = skipped;
      continue;
    }
    const read = readQuoted(sql, at, dialect) ?? readPlain(sql, at, character);
    if (read.text === ")" && read.kind === "mark") depth = Math.max(0, depth - 1);
    tokens.push({ ...read, depth, start: at });
    if (read.text === "(" && read.kind === "mark") depth += 1;
    at = read.end;
  }
  return tokens;
}

type Read = Omit<Token, "depth" | "start">;

function skipBlank(sql: string, at: number, dialect: Dialect): number {
  if (SPACE.test(sql[at] ?? "")) return at + 1;
  if (sql.startsWith("--", at)) {
    const end = sql.indexOf("\n", at);
    return end === -1 ? sql.length : end + 1;
  }
  return sql.startsWith("/*", at) ? skipComment(sql, at, dialect !== "sqlite") : at;
}

function skipComment(sql: string, start: number, nested: boolean): number {
  let level = 1;
  let at = start + 2;
  while (at < sql.length && level > 0) {
    if (sql.startsWith("*/", at)) {
      level -= 1;
      at += 2;
    } else if (nested && sql.startsWith("/*", at)) {
      level += 1;
      at += 2;
    } else at += 1;
  }
  return at;
}

function readQuoted(sql: string, at: number, dialect: Dialect): Read | undefined {
  const character = sql[at] ?? "";
  if (character === "'") return { kind: "string", ...readUntil(sql, at + 1, "'") };
  if (character === '"') return { kind: "name", ...readUntil(sql, at + 1, '"') };
  if (dialect === "sqlite") {
    if (character === "`") return { kind: "name", ...readUntil(sql, at + 1, "`") };
    if (character !== "[") return undefined;
    const end = sql.indexOf("]", at);
    return {
      kind: "name",
      text: sql.slice(at + 1, end === -1 ? undefined : end),
      end: end === -1 ? sql.length : end + 1,
    };
  }
  // Only after no letter: in `date'x'` the quote begins a string of its own.
  if (/^[eE]'/.test(sql.slice(at, at + 2))) return { kind: "string", ...readUntil(sql, at + 2, "'", true) };
  if (character !== "$") return undefined;
  DOLLAR_TAG.lastIndex = at;
  const tag = DOLLAR_TAG.exec(sql)?.[0];
  if (tag === undefined) return undefined;
  const end = sql.indexOf(tag, at + tag.length);
  const text = sql.slice(at + tag.length, end === -1 ? undefined : end);
  return { kind: "string", text, end: end === -1 ? sql.length : end + tag.length };
}

function readUntil(sql: string, start: number, quote: string, escapes = false): { text: string; end: number } {
  let text = "";
  let at = start;
  while (at < sql.length) {
    const character = sql[at] ?? "";
    if (escapes && character === "\\") {
      text += sql[at + 1] ?? "";
      at += 2;
    } else if (character !== quote) {
      text += character;
      at += 1;
    } else if (sql[at + 1] === quote) {
      text += quote;
      at += 2;
    } else return { text, end: at + 1 };
  }
  return { text, end: sql.length };
}

function readPlain(sql: string, at: number, character: string): Read {
  if (WORD_START.test(character)) return { kind: "word", ...match(WORD, sql, at, character) };
  if (/[\d.]/.test(character)) {
    const { text, end } = match(NUMBER, sql, at, "");
    if (end > at) return { kind: "number", text, end };
  }
  return { kind: "mark", text: character, end: at + character.length };
}

function match(pattern: RegExp, sql: string, at: number, least: string): { text: string; end: number } {
  pattern.lastIndex = at;
  const text = pattern.exec(sql)?.[0] || least;
  return { text, end: at + text.length };
}
