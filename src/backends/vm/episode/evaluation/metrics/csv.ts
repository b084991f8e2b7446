/** Reads CSV as RFC 4180 has it, with any single-character delimiter; a quote that never ends takes the rest. */
export function parseCsv(text: string, delimiter = ","): string[][] {
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  const endRow = () => {
    rows.push([...row, cell]);
    row = [];
    cell = "";
  };
  for (let at = 0; at < source.length; at += 1) {
    const character = source.charAt(at);
    if (quoted) {
      if (character !== '"') cell += character;
      else if (source[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else quoted = false;
    } else if (character === '"' && cell === "") quoted = true;
    else if (character === delimiter) {
      row.push(cell);
      cell = "";
    } else if (character === "\n" || (character === "\r" && source[at + 1] === "\n")) {
      if (character === "\r") at += 1;
      endRow();
    } else cell += character;
  }
  if (cell !== "" || row.length > 0) endRow();
  return rows;
}
