/** A stretch of a text that should stay together, and the headings that it stands under. */
export interface Block {
  readonly start: number;
  readonly end: number;
  readonly headings: readonly string[];
}
