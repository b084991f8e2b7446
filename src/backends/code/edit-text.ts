import { ToolyardError } from "../../core/errors.ts";
import { nearestText } from "./nearest-text.ts";

/** What an edit came to. */
export interface EditedText {
  readonly text: string;
  readonly replacements: number;
  /** 1-based. */
  readonly firstLine: number;
  readonly snippet: string;
}

const AROUND_LINES = 3;
/** Lines of an occurrence list or a snippet that are worth a model's reading. */
const SHOWN_LINES = 40;

/**
 * Replaces a text that occurs exactly once, or every occurrence with `replaceAll`.
 *
 * @throws ToolyardError `business_failure` that shows the nearest place, or where the occurrences are.
 */
export function editText(
  text: string,
  {
    path,
    oldString,
    newString,
    replaceAll,
  }: { path: string; oldString: string; newString: string; replaceAll: boolean },
): EditedText {
  const places: number[] = [];
  for (let at = text.indexOf(oldString); at >= 0; at = text.indexOf(oldString, at + oldString.length)) places.push(at);
  const [first] = places;
  if (first === undefined) throw notFound(text, path, oldString);
  if (places.length > 1 && !replaceAll) throw ambiguous(text, path, places);
  const edited = text.split(oldString).join(newString);
  const firstLine = lineOf(text, first);
  return { text: edited, replacements: places.length, firstLine, snippet: snippetOf(edited, firstLine, newString) };
}

function notFound(text: string, path: string, oldString: string): ToolyardError {
  const nearest = nearestText(oldString, text);
  if (nearest === null) {
    return new ToolyardError("business_failure", `old_string is not in ${path}, and nothing much like it`, {
      details: { path, matches: 0 },
      suggestion: "Read the file and copy the text exactly.",
    });
  }
  const { line, whitespaceOnly } = nearest;
  const how = whitespaceOnly ? "differs in whitespace only" : "is most like it";
  return new ToolyardError("business_failure", `old_string is not in ${path}; what is there at line ${line} ${how}`, {
    details: {
      path,
      matches: 0,
      nearest: {
        line,
        text: nearest.text.slice(0, 4000),
        similarity: Math.round(nearest.similarity * 100) / 100,
        whitespace_only: whitespaceOnly,
      },
    },
    suggestion: "Copy the text of data.nearest exactly, or read the file again.",
  });
}

function ambiguous(text: string, path: string, places: readonly number[]): ToolyardError {
  const lines = places.slice(0, SHOWN_LINES).map((place) => lineOf(text, place));
  return new ToolyardError(
    "business_failure",
    `old_string is ${places.length} times in ${path}, at the lines ${lines.join(", ")}`,
    {
      details: { path, matches: places.length, lines },
      suggestion: "Add lines around it until it is unique, or set replace_all.",
    },
  );
}

function lineOf(text: string, at: number): number {
  let line = 1;
  for (let newline = text.indexOf("\n"); newline >= 0 && newline < at; newline = text.indexOf("\n", newline + 1))
    line += 1;
  return line;
}

function snippetOf(text: string, firstLine: number, newString: string): string {
  const from = Math.max(1, firstLine - AROUND_LINES);
  const to = firstLine + newString.split("\n").length - 1 + AROUND_LINES;
  return numberLines(
    text
      .split("\n")
      .slice(from - 1, Math.min(to, from + SHOWN_LINES))
      .join("\n"),
    from,
  );
}

/** Puts each line's number and a tab before it. */
export function numberLines(text: string, firstLine: number): string {
  const whole = text.endsWith("\n");
  const lines = (whole ? text.slice(0, -1) : text).split("\n");
  const numbered = lines.map((line, index) => `${String(firstLine + index).padStart(6)}\t${line}`).join("\n");
  return whole ? `${numbered}\n` : numbered;
}
