import type { ToolContext } from "../../core/context.ts";
import { type Input, tool } from "../../core/tool.ts";
import type { DocConfig } from "./config.ts";
import type { DocumentStore } from "./document-store.ts";
import { findDocuments } from "./find-documents.ts";
import { toOwner } from "./library-tools.ts";
import { findTables } from "./outline.ts";
import { type RankedSection, rankSections } from "./rank-sections.ts";
import { SearchParams } from "./schemas.ts";
import { escapeXml } from "./xml.ts";

const SNIPPET = 300;

/** Finds sections of documents. */
export class SearchTools {
  readonly #store: DocumentStore;
  readonly #config: DocConfig;

  constructor(store: DocumentStore, config: DocConfig) {
    this.#store = store;
    this.#config = config;
  }

  @tool({
    description:
      "Find the sections of the documents that were taken in which fit some words best; read them with doc:read.",
    params: SearchParams,
    annotations: { readOnlyHint: true },
  })
  async search(params: Input<typeof SearchParams>, context: ToolContext) {
    const { key_words: words, max_search_results: limit = this.#config.max_search_results } = params;
    const documents = await findDocuments(this.#store, toOwner(context), params);
    const query = [words].flat().join(" ");
    const results = rankSections(documents, query, limit).map(toResult);
    const sections = results.map(
      ({ section_id: id, title, page, score, snippet }) =>
        `<section section_id="${escapeXml(id)}" title="${escapeXml(title)}"${page === null ? "" : ` page="${page}"`} ` +
        `score="${score.toFixed(3)}">${escapeXml(snippet)}</section>`,
    );
    const result = ["<search_results>", ...sections, "</search_results>"].join("\n");
    return { result, results, searched: documents.length, inputs: { key_words: words } };
  }
}

function toResult({ document, section, score, at }: RankedSection, index: number) {
  const text = document.text.slice(section.start, section.end);
  const from = Math.max(section.start, at - Math.floor(SNIPPET / 4));
  return {
    rank: index + 1,
    score,
    section_id: `${document.id}#${section.id}`,
    document: document.id,
    document_title: document.title,
    title: section.title,
    page: section.page,
    characters: text.length,
    tables: findTables(text).length,
    snippet: document.text
      .slice(from, Math.min(section.end, from + SNIPPET))
      .toWellFormed()
      .replace(/\s+/g, " ")
      .trim(),
  };
}
