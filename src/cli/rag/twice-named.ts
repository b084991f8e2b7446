import { relative } from "node:path";
import type { CollectionIndex } from "../../backends/rag/index/collection-index.ts";
import type { Terminal } from "../command.ts";
import type { FileDocument } from "./read-files.ts";

/** Counts the files that a collection also has by the ids of earlier versions. */
export class TwiceNamed {
  readonly #index: CollectionIndex;
  #count = 0;

  constructor(index: CollectionIndex) {
    this.#index = index;
  }

  async *watch(documents: AsyncIterable<FileDocument>): AsyncGenerator<FileDocument> {
    for await (const document of documents) {
      // Versions before --root named a file by its path from the current folder.
      const earlier = relative(process.cwd(), document.file);
      if (earlier !== document.id && this.#index.reader.document(earlier)?.source === earlier) this.#count += 1;
      yield document;
    }
  }

  tell(terminal: Terminal): void {
    if (this.#count === 0) return;
    terminal.warn(
      `${this.#count} of these files are there twice: also by their paths from this folder, as earlier versions named them. ` +
        "Index all files of the collection with --prune to remove those names, or with --root . to keep them.",
    );
  }
}
