const TEXT_LIMIT = 64 * 1024;

/** Leaves the middle of a text out that is too long for a result. */
export function clip(text: string): string {
  if (text.length <= TEXT_LIMIT) return text;
  const half = TEXT_LIMIT / 2;
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters left out …\n${text.slice(-half)}`;
}
