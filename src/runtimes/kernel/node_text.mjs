// Tells errors of user code as text, and keeps texts within bounds.
import { inspect } from "node:util";

const TEXT_LIMIT = 64 * 1024;
const MAX_CAUSES = 10;

/** Keeps the start and the end of a text, with every character whole. */
export function clip(value, limit = TEXT_LIMIT) {
  const text = value.toWellFormed?.() ?? value;
  if (text.length <= limit) return text;
  const half = limit / 2;
  const head = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, "");
  const tail = text.slice(-half).replace(/^[\uDC00-\uDFFF]/, "");
  return `${head}\n… ${text.length - head.length - tail.length} characters left out …\n${tail}`;
}

/** Tells what was thrown with true line numbers; the line is one of the code that was sent. */
export function describe({ thrown, line }, x, source) {
  try {
    return tell(thrown, line, x, source);
  } catch {
    return { name: "Error", message: "the error could not be printed", traceback: "" };
  }
}

function tell(thrown, line, x, source) {
  const isError = thrown instanceof Error;
  const name = isError ? String(thrown.name) : typeof thrown;
  const message = isError ? String(thrown.message) : clip(inspect(thrown));
  const trace = isError ? chain(thrown) : `${name}: ${message}`;
  const at = new RegExp(`cell-${x}\\.js:(\\d+)`).exec(trace)?.[1];
  const number = at === undefined ? line : Number(at);
  const excerpt = source.split("\n")[number - 1];
  const place = excerpt === undefined ? "" : `cell-${x}.js:${number}\n${clip(excerpt, 400)}\n\n`;
  return {
    name: clip(name, 1000),
    message: clip(message),
    ...(Number.isSafeInteger(number) ? { line: number } : {}),
    traceback: clip(place + trace),
  };
}

/** An error's stack with those of what caused it, without the frames of this kernel and of the inspector. */
function chain(error) {
  const seen = new Set();
  const parts = [];
  const add = (current, label) => {
    if (seen.has(current) || parts.length >= MAX_CAUSES) return;
    seen.add(current);
    if (!(current instanceof Error)) {
      parts.push(`${label}${clip(inspect(current), 1000)}`);
      return;
    }
    parts.push(label + strip(current));
    if (current.cause !== undefined) add(current.cause, "caused by ");
    if (Array.isArray(current.errors)) for (const [index, item] of current.errors.entries()) add(item, `[${index}] `);
  };
  add(error, "");
  return parts.join("\n");
}

function strip(error) {
  const stack = typeof error.stack === "string" ? error.stack : `${error.name}: ${error.message}`;
  return stack
    .split("\n")
    .filter((text) => !/^\s+at .*(\bnode:|\/node_kernel\.mjs|enter-cell\.js)|at new Promise \(<anonymous>\)/.test(text))
    .join("\n")
    .replaceAll("at <anonymous> (", "at (");
}
