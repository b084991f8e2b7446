import type { Page } from "puppeteer-core";
import { ToolyardError } from "../../../core/errors.ts";

/** The elements that snapshots of a page named, by `e1`, `e2` …; a ref stays the element's own until another page comes. */
export class PageRefs {
  readonly #nodes = new Map<string, number>();
  readonly #refs = new Map<number, string>();

  constructor(page: Page) {
    page.on("framenavigated", (frame) => {
      if (frame !== page.mainFrame()) return;
      this.#nodes.clear();
      this.#refs.clear();
    });
  }

  /** Names an element by the number that the browser knows it by. */
  name(node: number): string {
    const known = this.#refs.get(node);
    if (known !== undefined) return known;
    const ref = `e${this.#refs.size + 1}`;
    this.#refs.set(node, ref);
    this.#nodes.set(ref, node);
    return ref;
  }

  /**
   * The number that the browser knows an element by.
   *
   * @throws ToolyardError `unknown_name` for one that no snapshot of this page named
   */
  node(ref: string): number {
    const node = this.#nodes.get(ref);
    if (node !== undefined) return node;
    throw new ToolyardError("unknown_name", `no snapshot of this page names an element ${ref}`, {
      suggestion: "Take a browser:snapshot, and use its refs until the page changes.",
    });
  }
}
