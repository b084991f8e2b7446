/** Writes a name so that it means itself whatever characters it has; the three engines read it alike. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Writes text as a string. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
