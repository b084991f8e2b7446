/** Asks for a place to run sandboxes; replaced by the runtimes helper. */
export interface RuntimeSelector {
  readonly names: readonly string[];
}
