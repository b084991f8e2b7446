import type { ToolContext } from "../../core/context.ts";
import { type Input, tool } from "../../core/tool.ts";
import type { DocConfig } from "./config.ts";
import type { DocumentStore, KeptDocument } from "./document-store.ts";
import { namesOf, unknownDocument } from "./find-documents.ts";
import { toOwner } from "./library-tools.ts";
import { findTables, type Section } from "./outline.ts";
import { findFirst, rankSections } from "./rank-sections.ts";
import { SearchParams } from "./schemas.ts";
import { toTerms } from "./section-terms.ts";
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
    const owner = toOwner(context);
    const ids = namesOf(params);
    const terms = [...new Set(toTerms([words].flat().join(" ")))];
    const searched = await this.#store.search(owner, ids, terms);
    const { documents } = searched;
    const missing = ids?.find((id) => documents.every((document) => document.id !== id));
    if (missing !== undefined) throw unknownDocument(missing);
    const ranked = rankSections(documents, searched.terms, limit);
    const kept = new Map<string, KeptDocument>();
    for (const { id } of ranked) {
      // oxlint-disable-next-line no-await-in-loop -- each is read once, and at once
      const document = kept.get(id) ?? (await this.#store.get(owner, id));
      if (document !== undefined) kept.set(id, document);
    }
    const generations = new Map(documents.map(({ id, generation }) => [id, generation]));
    const results = ranked
      .flatMap(({ id, index, score }) => {
        const document = kept.get(id);
        const section = document?.sections[index];
        // What was replaced a moment ago has other sections.
        if (document === undefined || section === undefined || document.generation !== generations.get(id)) return [];
        return [{ document, section, score, at: findFirst(document, section, new Set(terms)) }];
      })
      .map(toResult);
    const sections = results.map(
      ({ section_id: id, title, page, score, snippet }) =>
        `<section section_id="${escapeXml(id)}" title="${escapeXml(title)}"${page === null ? "" : ` page="${page}"`} ` +
        `score="${score.toFixed(3)}">${escapeXml(snippet)}</section>`,
    );
    const result = ["<search_results>", ...sections, "</search_results>"].join("\n");
    return { result, results, searched: documents.length, inputs: { key_words: words } };
  }
}

interface Found {
  readonly document: KeptDocument;
  readonly section: Section;
  readonly score: number;
  /** Where in the document's text the first of the words stands. */
  readonly at: number;
}

function toResult({ document, section, score, at }: Found, index: number) {
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
