import { seededRandom } from "../dist/backends/rag/seeded-random.js";

const WORDS = 60_000;

/** Words by rank, of letters so that stems and stop words behave as ever. */
const TABLE = Array.from({ length: WORDS }, (_, rank) => {
  return `w${rank.toString(36).replace(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "")}x`;
});

/** Makes texts of words that are as frequent as Zipf's law has it; the same seed always gives the same ones. */
export function zipfTexts(seed: number): (words: number) => string {
  const random = seededRandom(seed);
  return (words) => Array.from({ length: words }, () => TABLE[Math.floor(WORDS ** random())]).join(" ");
}
