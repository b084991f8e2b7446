import { tokenize } from "../../query/sql/tokens.ts";
import { formatOf, stemOf } from "./data-file.ts";

/** Tells of a file by its name whether a query may mean it: only those are opened. */
export function namedIn(query: string): (name: string) => boolean {
  const words = tokenize(query, "duckdb").flatMap(({ kind, text }) =>
    kind === "number" || kind === "mark" ? [] : [text.toLowerCase()],
  );
  return (name) => {
    const names = [name, stemOf(name)].map((one) => one.toLowerCase());
    const isBook = formatOf(name) === "xlsx";
    return words.some((word) => names.some((one) => word === one || (isBook && word.startsWith(`${one}/`))));
  };
}
