import type { ChatModel } from "../../core/chat-model.ts";
import type { ToolContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import { type Input, tool } from "../../core/tool.ts";
import type { DocConfig } from "./config.ts";
import type { DocumentStore, KeptDocument, Owner } from "./document-store.ts";
import { findDocuments } from "./find-documents.ts";
import { describe, toOutlineView, toOwner } from "./library-tools.ts";
import { findFigures, findTables, type Section } from "./outline.ts";
import { readForGoal } from "./read-for-goal.ts";
import type { Figure } from "./read-parts.ts";
import { ReadParams } from "./schemas.ts";

/** As models count them, roughly. */
const CHARACTERS_PER_TOKEN = 4;

interface Chosen {
  readonly document: KeptDocument;
  readonly section: Section;
}

/** Reads sections and pages of documents. */
export class ReadTools {
  readonly #store: DocumentStore;
  readonly #config: DocConfig;
  readonly #model: ChatModel | undefined;

  constructor(store: DocumentStore, config: DocConfig, model: ChatModel | undefined) {
    this.#store = store;
    this.#config = config;
    this.#model = model;
  }

  @tool({
    description:
      "Read sections or pages of documents that were taken in, with their tables and figures; without either, their outline.",
    params: ReadParams,
    annotations: { readOnlyHint: true },
  })
  async read(params: Input<typeof ReadParams>, context: ToolContext) {
    const owner = toOwner(context);
    const inputs = { section_ids: params.section_ids ?? null, pages: params.pages ?? null, goal: params.goal ?? null };
    const chosen = await this.#choose(params, owner);
    if (chosen === null) {
      const documents = await findDocuments(this.#store, owner, params);
      const outline = documents.flatMap(toOutlineView);
      const result = outline.map(
        ({ section_id: id, title, level }) => `${"  ".repeat(Math.max(0, level - 1))}${id} ${title}`,
      );
      return {
        result: result.join("\n"),
        documents: documents.map(describe),
        outline,
        sections: [],
        figures: [],
        inputs,
      };
    }
    const maxTokens = params.max_text_token ?? this.#config.max_text_token;
    const { sections, truncated } = cut(chosen, maxTokens * CHARACTERS_PER_TOKEN);
    const maxFigures = params.max_image_num ?? this.#config.max_image_num;
    const figures = await this.#figuresOf(sections, owner, maxFigures);
    const text = sections
      .map(({ section_id: id, title, text: body }) => `[${id}${title === "" ? "" : ` ${title}`}]\n${body}`)
      .join("\n\n");
    const warnings = truncated ? [`the text goes on after ${maxTokens} tokens`] : [];
    const goal = params.goal?.trim() ?? "";
    const { vision } = this.#config;
    const said =
      goal === ""
        ? null
        : await readForGoal({ model: this.#model, vision, text, figures, goal, warnings }, context.signal);
    return {
      result: said?.text ?? text,
      sections,
      figures,
      truncated,
      answer: said === null ? null : { text: said.text, model: said.model, usage: said.usage },
      inputs,
      ...(warnings.length > 0 && { warning: warnings.join("; ") }),
    };
  }

  /** The sections that a call means, in the order of its words; `null` when it names none. */
  async #choose(params: Input<typeof ReadParams>, owner: Owner): Promise<Chosen[] | null> {
    if (params.section_ids === undefined && params.pages === undefined) return null;
    const ids = [params.section_ids ?? []].flat();
    const chosen: Chosen[] = [];
    const isNeeded = params.pages !== undefined || ids.some((id) => !id.includes("#"));
    const [only, second] = isNeeded ? await findDocuments(this.#store, owner, params) : [];
    for (const id of ids) {
      const [name, part] = splitId(id);
      // One after another, in the order of the ids.
      // oxlint-disable-next-line no-await-in-loop
      const [document] =
        name === undefined ? [onlyOf(only, second)] : await findDocuments(this.#store, owner, { document: name });
      if (document !== undefined) chosen.push(...sectionsOf(document, part));
    }
    if (params.pages !== undefined) chosen.push(...pagesOf(onlyOf(only, second), params.pages));
    return [...new Map(chosen.map((one) => [`${one.document.id}#${one.section.id}`, one])).values()];
  }

  async #figuresOf(sections: readonly { document: string; figures: readonly number[] }[], owner: Owner, max: number) {
    const named = sections.flatMap(({ document, figures }) => figures.map((number) => ({ document, number })));
    const found = await Promise.all(
      named.slice(0, max).map(async ({ document, number }) => {
        const figure = await this.#store.figure(owner, document, number);
        return figure === undefined ? [] : [{ document, ...figure }];
      }),
    );
    return found.flat() satisfies (Figure & { document: string })[];
  }
}

function splitId(id: string): readonly [document: string | undefined, section: string] {
  const at = id.lastIndexOf("#");
  return at === -1 ? [undefined, id] : [id.slice(0, at), id.slice(at + 1)];
}

function onlyOf(only: KeptDocument | undefined, second: KeptDocument | undefined): KeptDocument {
  if (only !== undefined && second === undefined) return only;
  const what = only === undefined ? "there is no document" : "there are several documents";
  throw new ToolyardError("invalid_input", `${what}: name one`, {
    suggestion: "Send document, or section ids as doc:search gives them.",
  });
}

function sectionsOf(document: KeptDocument, id: string): Chosen[] {
  const found = document.sections.filter((section) => section.id === id || section.id.startsWith(`${id}.`));
  if (found.length > 0) return found.map((section) => ({ document, section }));
  throw new ToolyardError("unknown_name", `${document.id} has no section "${id.slice(0, 100)}"`, {
    suggestion: "doc:read without sections gives the outline.",
  });
}

function pagesOf(document: KeptDocument, pages: string): Chosen[] {
  const ranges = pages.split(",").map((range) => range.trim().split("-").map(Number));
  const last = document.sections.findLast(({ page }) => page !== null)?.page ?? 0;
  const found = document.sections.filter(({ page }) =>
    ranges.some(([from = 0, to = from]) => page !== null && page >= from && page <= to),
  );
  if (found.length > 0) return found.map((section) => ({ document, section }));
  throw new ToolyardError(
    "unknown_name",
    last === 0 ? `${document.id} has no pages` : `${document.id} has ${last} pages`,
    {
      suggestion: "Only PDF and XLSX have pages; read others by section.",
    },
  );
}

/** The texts of sections, together of so many characters at most. */
function cut(chosen: readonly Chosen[], maxCharacters: number) {
  let left = maxCharacters;
  let truncated = false;
  const sections = chosen.flatMap(({ document, section }) => {
    const whole = document.text.slice(section.start, section.end).trim();
    const text = whole.slice(0, left).toWellFormed();
    left -= text.length;
    if (text.length < whole.length) truncated = true;
    if (text === "" && whole !== "") return [];
    const { id, title, level, page } = section;
    const facts = { section_id: `${document.id}#${id}`, document: document.id, title, level, page };
    return [{ ...facts, text, tables: findTables(text), figures: findFigures(text) }];
  });
  return { sections, truncated };
}
