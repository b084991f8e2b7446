import { stemmer } from "stemmer";
import { STOP_WORDS } from "./stop-words.ts";

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const LATIN = /^[a-z]+$/;
/** Scripts that write no spaces between words, whose words are found as pairs of letters. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu;
const HAS_UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const MARKS = /\p{M}+/gu;
// oxlint-disable-next-line no-control-regex
const ASCII = /^[\x00-\x7f]*$/;
const HUMP = /(?<=\p{Ll})(?=\p{Lu})/u;
const MAX_TERM_LENGTH = 64;
const MAX_KNOWN = 100_000;

/** What words were turned into. */
const known = new Map<string, readonly string[]>();

/**
 * Turns text into the terms that it is found by, repetitions kept: lower case without accents, stop words left out, English
 * endings removed. Words joined by capitals (`readFile`) also count in their parts, scripts without spaces as pairs of letters.
 */
export function analyze(text: string): string[] {
  const terms: string[] = [];
  const plain = ASCII.test(text) ? text : text.normalize("NFKD").replace(MARKS, "").normalize("NFC");
  for (const word of plain.match(WORD) ?? []) {
    for (const term of known.get(word) ?? toTerms(word)) terms.push(term);
  }
  return terms;
}

function toTerms(word: string): readonly string[] {
  const own = copy(word);
  const terms: string[] = [];
  if (HAS_UNSPACED.test(own)) addUnspaced(terms, own);
  else {
    addWord(terms, own.toLowerCase());
    if (HUMP.test(own)) for (const part of own.split(HUMP)) addWord(terms, part.toLowerCase());
  }
  if (own.length <= MAX_TERM_LENGTH) {
    // Forgotten all at once: the common words are back after a few texts.
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(own, terms);
  }
  return terms;
}

/** A word that does not keep the text in memory that it was cut from. */
function copy(word: string): string {
  return Buffer.from(word, "utf16le").toString("utf16le");
}

/** Counts terms. */
export function countTerms(terms: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
}

function addWord(terms: string[], word: string): void {
  if (STOP_WORDS.has(word)) return;
  const short = word.length > MAX_TERM_LENGTH ? word.slice(0, MAX_TERM_LENGTH) : word;
  terms.push(LATIN.test(short) ? stemmer(short) : short);
}

function addUnspaced(terms: string[], word: string): void {
  let end = 0;
  for (const match of word.matchAll(UNSPACED)) {
    if (match.index > end) addWord(terms, word.slice(end, match.index).toLowerCase());
    end = match.index + match[0].length;
    const letters = [...match[0]];
    if (letters.length === 1) terms.push(match[0]);
    for (let index = 1; index < letters.length; index++) terms.push(`${letters[index - 1]}${letters[index]}`);
  }
  if (end < word.length) addWord(terms, word.slice(end).toLowerCase());
}
