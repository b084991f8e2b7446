import { parse } from "acorn";

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Turns the top-level `let`, `const` and `class` of a cell into `var`, so that a later cell may declare the name again,
 * as every notebook and REPL allows. Lines stay as they are; code that does not parse is returned unchanged, for the
 * engine to complain about.
 */
export function allowRedeclaration(code: string): string {
  if (!/\b(?:let|const|class)\b/.test(code)) return code;
  const edits: Edit[] = [];
  try {
    const program = parse(code, {
      ecmaVersion: "latest",
      sourceType: "script",
      allowAwaitOutsideFunction: true,
      allowHashBang: true,
    });
    for (const statement of program.body) {
      if (statement.type === "VariableDeclaration" && (statement.kind === "let" || statement.kind === "const")) {
        edits.push({ start: statement.start, end: statement.start + statement.kind.length, text: "var" });
        for (const { id, init } of statement.declarations) {
          // `let x;` sets x to undefined again, which `var x;` would not.
          if (init === null || init === undefined) edits.push({ start: id.end, end: id.end, text: " = void 0" });
        }
      } else if (statement.type === "ClassDeclaration") {
        edits.push({ start: statement.start, end: statement.start, text: `var ${statement.id.name} = ` });
        edits.push({ start: statement.end, end: statement.end, text: ";" });
      }
    }
  } catch {
    return code;
  }
  let result = "";
  let position = 0;
  for (const { start, end, text } of edits) {
    result += code.slice(position, start) + text;
    position = end;
  }
  return result + code.slice(position);
}
