/** One value of a row, as JSON holds it. */
export type Cell = null | boolean | number | string | readonly Cell[] | { readonly [name: string]: Cell };

/** Decimal digits that a double holds whatever the number. */
const SAFE_DIGITS = 15;

/**
 * Turns a value of an engine into JSON without losing any of it: integers and decimals that a double cannot hold stay
 * text, so do infinities and what is not a number; bytes are `{base64, size_bytes}`.
 */
export function toCell(value: unknown): Cell {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    case "object":
      return toObjectCell(value);
    default:
      return null;
  }
}

/** A decimal number that came as text, which it stays where a double holds it only roughly. */
export function toNumberCell(text: string): Cell {
  const written = /^-?(?<digits>\d+(?:\.\d+)?)(?:e[+-]?\d+)?$/i.exec(text)?.groups?.["digits"];
  if (written === undefined) return text;
  const digits = written.replace(/^0*|\./g, "").replace(/^0+|0+$/g, "");
  const number = Number(text);
  // One that is far too large or too small has few digits, too.
  const fits = Number.isFinite(number) && (number !== 0 || digits === "");
  return fits && digits.length <= SAFE_DIGITS ? number : text;
}

function toObjectCell(value: object | null): Cell {
  if (value === null) return null;
  if (value instanceof Uint8Array)
    return { base64: Buffer.from(value).toString("base64"), size_bytes: value.byteLength };
  if (Array.isArray(value)) return value.map(toCell);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, toCell(part)]));
}
