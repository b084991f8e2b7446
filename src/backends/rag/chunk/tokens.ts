const PIECE = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]|[\p{L}\p{M}]+|\p{N}{1,3}|[^\s\p{L}\p{N}\p{M}]/gu;
const LETTERS_PER_TOKEN = 6;

// oxlint-disable-next-line no-control-regex
const ASCII = /^[\x00-\x7f]*$/;
const DIGITS_PER_TOKEN = 3;

/** Estimates how many tokens a language model sees in a text: within a quarter for prose, code and unspaced scripts. */
export function estimateTokens(text: string): number {
  if (ASCII.test(text)) return estimateAscii(text);
  let tokens = 0;
  for (const [piece] of text.matchAll(PIECE)) tokens += Math.ceil(piece.length / LETTERS_PER_TOKEN);
  return tokens;
}

/** The same for text of which each code unit is a character of ASCII, as most is. */
function estimateAscii(text: string): number {
  let tokens = 0;
  let letters = 0;
  let digits = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    const isLetter = (unit | 0x20) >= 0x61 && (unit | 0x20) <= 0x7a;
    const isDigit = unit >= 0x30 && unit <= 0x39;
    // One more for each piece that begins.
    if (isLetter && letters++ % LETTERS_PER_TOKEN === 0) tokens += 1;
    if (isDigit && digits++ % DIGITS_PER_TOKEN === 0) tokens += 1;
    if (!isLetter) letters = 0;
    if (!isDigit) digits = 0;
    if (!isLetter && !isDigit && !isSpace(unit)) tokens += 1;
  }
  return tokens;
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
}
