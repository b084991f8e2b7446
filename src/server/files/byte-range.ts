/** A stretch of a file: from `start` on, `length` bytes. */
export interface ByteRange {
  readonly start: number;
  readonly length: number;
}

const SHAPE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/;
/** More digits than any size has. */
const MAX_DIGITS = 15;

/**
 * Reads a Range header against a size; `undefined` for none, and for what HTTP lets a server pass over: other units, several ranges,
 * wrong syntax. `unsatisfiable` when it asks for nothing that there is.
 */
export function parseRange(header: string | undefined, sizeBytes: number): ByteRange | "unsatisfiable" | undefined {
  const [, first = "", last = ""] = SHAPE.exec(header ?? "") ?? [];
  if (first.length > MAX_DIGITS || last.length > MAX_DIGITS)
    return first.length > MAX_DIGITS ? "unsatisfiable" : undefined;
  if (first === "" && last === "") return undefined;
  if (first === "") {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? "unsatisfiable" : { start: sizeBytes - length, length };
  }
  const start = Number(first);
  const end = last === "" ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  if (last !== "" && Number(last) < start) return undefined;
  return start >= sizeBytes ? "unsatisfiable" : { start, length: end - start + 1 };
}
