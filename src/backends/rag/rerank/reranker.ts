import { z } from "zod";
import { ToolyardError } from "../../../core/errors.ts";

/** What reads queries and chunks together: an endpoint that speaks as the `/rerank` of Jina, Cohere, vLLM and others does. */
export const RerankConfig = z.strictObject({
  /** The base, such as `http://127.0.0.1:8000/v1`. */
  url: z.url({ protocol: /^https?$/ }),
  model: z.string().min(1).max(256),
  api_key: z.string().max(4_096).optional(),
  /** How many of the best chunks are read, and milliseconds that it may take. */
  candidates: z.int().min(1).max(1_000).default(50),
  timeout_ms: z.int().min(1).max(600_000).default(30_000),
});
export type RerankConfig = z.infer<typeof RerankConfig>;

const Answer = z.object({ results: z.array(z.object({ index: z.int(), relevance_score: z.number() })) });

/** Puts texts in the order of how well they answer a query, by a model that reads both. */
export class Reranker {
  readonly config: RerankConfig;

  constructor(config: RerankConfig) {
    this.config = config;
  }

  /**
   * Scores texts, in their order.
   *
   * @throws ToolyardError `upstream_failed` or `upstream_unreadable`; the signal's reason
   */
  async score(query: string, documents: readonly string[], signal: AbortSignal): Promise<readonly number[]> {
    if (documents.length === 0) return [];
    const { url, model, api_key: key, timeout_ms: timeoutMs } = this.config;
    let answer: Response;
    let body: unknown;
    try {
      answer = await fetch(`${url.replace(/\/$/, "")}/rerank`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(key !== undefined && { authorization: `Bearer ${key}` }) },
        body: JSON.stringify({ model, query, documents, top_n: documents.length }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      body = await answer.json().catch(() => undefined);
    } catch (error) {
      signal.throwIfAborted();
      throw new ToolyardError("upstream_failed", "The rerank endpoint did not answer", { cause: error });
    }
    if (!answer.ok) throw new ToolyardError("upstream_failed", `The rerank endpoint answered ${answer.status}`);
    const results = Answer.safeParse(body).data?.results ?? [];
    const scores = new Map(results.map(({ index, relevance_score: score }) => [index, score]));
    const all = documents.map((_, index) => scores.get(index));
    if (all.some((score) => score === undefined)) {
      throw new ToolyardError("upstream_unreadable", "The rerank endpoint did not score every text");
    }
    return all.map((score) => score ?? 0);
  }
}
