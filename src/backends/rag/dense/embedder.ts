import { z } from "zod";
import { ToolyardError } from "../../../core/errors.ts";
import { normalize } from "../lsa/semantic-model.ts";

/** Where texts are turned into vectors: an endpoint that speaks as OpenAI's `/v1/embeddings` does. */
export const EmbeddingsConfig = z.strictObject({
  /** The base, such as `http://127.0.0.1:8000/v1`. */
  url: z.url({ protocol: /^https?$/ }),
  model: z.string().min(1).max(256),
  api_key: z.string().max(4_096).optional(),
  /** Texts of one request, and milliseconds that it may take. */
  batch: z.int().min(1).max(2_048).default(64),
  timeout_ms: z.int().min(1).max(600_000).default(30_000),
  /** What goes before queries and before documents, for models that want it. */
  query_prefix: z.string().max(1_024).default(""),
  document_prefix: z.string().max(1_024).default(""),
});
export type EmbeddingsConfig = z.infer<typeof EmbeddingsConfig>;

const Answer = z.object({ data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()) })) });

interface Waiting {
  readonly text: string;
  readonly resolve: (vector: Float32Array) => void;
  readonly reject: (error: unknown) => void;
}

/** Requests under way at once. */
const MAX_REQUESTS = 2;

/**
 * Turns texts into vectors of length 1. A text that finds a free request goes at once; those that come while all are under way go
 * together with the next: batches grow with the load, and nothing waits for a timer.
 */
export class Embedder {
  readonly config: EmbeddingsConfig;
  readonly #waiting: Waiting[] = [];
  #running = 0;
  #requests = 0;
  #texts = 0;

  constructor(config: EmbeddingsConfig) {
    this.config = config;
  }

  get counts(): Readonly<Record<string, number>> {
    return { requests: this.#requests, texts: this.#texts, running: this.#running, waiting: this.#waiting.length };
  }

  /** @throws ToolyardError `upstream_failed` or `upstream_unreadable` */
  embed(texts: readonly string[]): Promise<Float32Array[]> {
    const vectors = texts.map(
      (text) => new Promise<Float32Array>((resolve, reject) => this.#waiting.push({ text, resolve, reject })),
    );
    // After whatever else this turn of the loop asks for.
    queueMicrotask(() => this.#start());
    return Promise.all(vectors);
  }

  #start(): void {
    while (this.#running < MAX_REQUESTS && this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.config.batch);
      this.#running += 1;
      this.#requests += 1;
      this.#texts += batch.length;
      void this.#request(batch.map(({ text }) => text))
        .then((vectors) => {
          for (const [index, { resolve }] of batch.entries()) resolve(vectors[index] ?? new Float32Array());
        })
        .catch((error: unknown) => {
          for (const { reject } of batch) reject(error);
        })
        .finally(() => {
          this.#running -= 1;
          this.#start();
        });
    }
  }

  async #request(input: readonly string[]): Promise<Float32Array[]> {
    const { url, model, api_key: key, timeout_ms: timeoutMs } = this.config;
    let answer: Response;
    let body: unknown;
    try {
      answer = await fetch(`${url.replace(/\/$/, "")}/embeddings`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(key !== undefined && { authorization: `Bearer ${key}` }) },
        body: JSON.stringify({ model, input, encoding_format: "float" }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      body = await answer.json().catch(() => undefined);
    } catch (error) {
      throw new ToolyardError("upstream_failed", "The embeddings endpoint did not answer", { cause: error });
    }
    if (!answer.ok) throw new ToolyardError("upstream_failed", `The embeddings endpoint answered ${answer.status}`);
    const { data } = Answer.safeParse(body);
    const vectors = data?.data.toSorted((left, right) => left.index - right.index).map(({ embedding }) => embedding);
    const size = vectors?.[0]?.length ?? 0;
    const isWhole = vectors?.length === input.length && size > 0 && vectors.every(({ length }) => length === size);
    if (vectors === undefined || !isWhole) {
      throw new ToolyardError("upstream_unreadable", "The embeddings endpoint answered something else than vectors");
    }
    return vectors.map((vector) => {
      const floats = Float32Array.from(vector);
      normalize(floats);
      return floats;
    });
  }
}
