import type { ChatModel } from "../../core/chat-model.ts";
import type { ToolContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import { type Input, tool } from "../../core/tool.ts";
import { checkCount } from "./check-count.ts";
import type { WebConfig } from "./config.ts";
import { extractGoal, type GoalAnswer, showExtraction } from "./page/extract-goal.ts";
import type { PageReader, ReadPage } from "./page/page-reader.ts";
import type { Link } from "./page/read-article.ts";
import { type ItemError, type ItemResult, runBatch, warnOf } from "./run-batch.ts";
import { VisitParams } from "./schemas.ts";
import { SEPARATOR } from "./show-results.ts";

type Params = Input<typeof VisitParams>;

/** What became of one page. */
export interface VisitedPage {
  /** As it was asked for. */
  readonly requested: string;
  /** Where it was in the end. */
  readonly url: string | null;
  readonly status: number | null;
  readonly title: string | null;
  readonly byline: string | null;
  readonly site: string | null;
  readonly published: string | null;
  readonly language: string | null;
  readonly content_type: string | null;
  /** The stretch of its text that was asked for, in UTF-16 code units from `start`. */
  readonly text: string;
  readonly start: number;
  /** Of the whole text. */
  readonly characters: number;
  /** Where the next stretch begins; `null` at the end. */
  readonly next_start: number | null;
  readonly cached: boolean;
  readonly extraction: (NonNullable<GoalAnswer["extraction"]> & Pick<GoalAnswer, "model" | "usage">) | null;
  readonly links?: readonly Link[];
  readonly warning?: string;
  readonly error?: ItemError;
}

/** Reads pages of the web. */
export class VisitTools {
  readonly #reader: PageReader;
  readonly #config: WebConfig;
  readonly #model: ChatModel | undefined;

  constructor(reader: PageReader, config: WebConfig, model: ChatModel | undefined) {
    this.#reader = reader;
    this.#config = config;
    this.#model = model;
  }

  @tool({
    description:
      "Read pages of the web as Markdown: HTML, PDF, DOCX, XLSX, plain text. With a goal, what bears on it is picked out where the server has a model.",
    params: VisitParams,
    annotations: { readOnlyHint: true, openWorldHint: true },
  })
  async visit(params: Params, context: ToolContext) {
    const { visit } = this.#config;
    const urls = [params.urls].flat();
    checkCount(urls.length, visit.max_urls, "max_urls");
    const results = await runBatch(urls, visit.parallel, context, (url) => this.#visitOne(url, params, context));
    const pages = results.map((result, index) => toPage(result, urls[index] ?? ""));
    const failed = warnOf(results, "pages");
    const warning = [failed, ...pages.map((page) => page.warning)].filter((one) => one !== undefined).join("; ");
    return {
      result: pages.map((page) => show(page, params.goal ?? "")).join(SEPARATOR),
      pages,
      inputs: { urls: params.urls, goal: params.goal ?? null },
      ...(warning !== "" && { warning }),
    };
  }

  async #visitOne(requested: string, params: Params, context: ToolContext): Promise<VisitedPage> {
    const { full_page: whole, browser, fresh, start } = params;
    const page = await this.#reader.read(requested, { whole, browser, fresh }, context);
    const limit = params.max_characters ?? this.#config.visit.content_limit;
    const { text, next } = stretch(page.text, start, limit);
    const warnings = page.status >= 400 ? [`${page.url} answered ${page.status}`] : [];
    if (next !== null) warnings.push(`${page.url} goes on at start=${next}`);
    const goal = params.goal?.trim() ?? "";
    const read = goal === "" || text === "" ? null : await this.#look(page, text, goal, context, warnings);
    const { links, excerpt: _excerpt, text: whole_, ...facts } = page;
    return {
      requested,
      ...facts,
      text,
      start,
      characters: whole_.length,
      next_start: next,
      extraction: read?.extraction ? { ...read.extraction, model: read.model, usage: read.usage } : null,
      ...(params.links && { links }),
      ...(warnings.length > 0 && { warning: warnings.join("; ") }),
    };
  }

  /** Has the model read for the goal; where it cannot, the text itself is the answer, and a warning says why. */
  async #look(
    { url }: ReadPage,
    text: string,
    goal: string,
    { signal }: ToolContext,
    warnings: string[],
  ): Promise<GoalAnswer | null> {
    if (this.#model === undefined) {
      warnings.push("no model is configured to read for the goal: this is the text itself");
      return null;
    }
    try {
      const answer = await extractGoal(this.#model, { url, text }, goal, signal);
      if (answer.extraction === null) warnings.push("the model gave no answer of the form that it was asked for");
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      if (!ToolyardError.is(error)) throw error;
      warnings.push(`the model did not read for the goal: ${error.message}`);
      return null;
    }
  }
}

/** A stretch of a text that ends at a line or a word where one is near, and never within a character. */
function stretch(text: string, start: number, limit: number): { readonly text: string; readonly next: number | null } {
  const from = isInside(text, start) ? start + 1 : start;
  if (text.length <= from + limit) return { text: text.slice(from), next: null };
  const hard = isInside(text, from + limit) ? from + limit - 1 : from + limit;
  const earliest = hard - Math.floor(limit / 10);
  const line = text.lastIndexOf("\n", hard - 1) + 1;
  const word = text.lastIndexOf(" ", hard - 1) + 1;
  const end = [line, word].find((at) => at > earliest) ?? hard;
  return { text: text.slice(from, end), next: end };
}

function isInside(text: string, at: number): boolean {
  return (
    at > 0 && at < text.length && /[\udc00-\udfff]/.test(text.charAt(at)) && /[\ud800-\udbff]/.test(text.charAt(at - 1))
  );
}

function toPage(result: ItemResult<VisitedPage>, requested: string): VisitedPage {
  if ("value" in result) return result.value;
  return { ...FAILED, requested, error: result.error };
}

const FAILED = {
  url: null,
  status: null,
  title: null,
  byline: null,
  site: null,
  published: null,
  language: null,
  content_type: null,
  text: "",
  start: 0,
  characters: 0,
  next_start: null,
  cached: false,
  extraction: null,
} as const;

function show({ requested, url, title, text, extraction, error }: VisitedPage, goal: string): string {
  if (error !== undefined) return `[${requested} could not be read: ${error.message}]`;
  if (extraction !== null) return showExtraction(url ?? requested, goal, extraction);
  const head = [...(title === null ? [] : [`# ${title}`]), `URL: ${url ?? requested}`].join("\n");
  return `${head}\n\n${text}`;
}
