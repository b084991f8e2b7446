/** A line without what ends it. */
export interface Line {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The lines of a text, with their places in it. */
export function* linesOf(text: string): Generator<Line> {
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    const stop = text.charCodeAt(end - 1) === 13 && end > start ? end - 1 : end;
    yield { start, end: stop, text: text.slice(start, stop) };
    start = end + 1;
  }
}
