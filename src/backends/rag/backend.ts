import { Backend, type BackendSetup } from "../../core/backend.ts";
import type { LifecycleContext } from "../../core/context.ts";
import { type BoundTool, scanTools } from "../../core/tool.ts";
import { RagConfig } from "./config.ts";
import { Embedder } from "./dense/embedder.ts";
import { DocumentTools } from "./document-tools.ts";
import { ListingTools } from "./listing-tools.ts";
import { Reranker } from "./rerank/reranker.ts";
import { SearchTools } from "./search-tools.ts";
import { Shelf } from "./shelf/shelf.ts";

const HOUR_MS = 3_600_000;

/**
 * Searches documents: shared collections that an operator indexed, and over them what each worker indexed for itself.
 *
 * It has no sessions: what a worker indexed is there until it is deleted, or was not used for `unused_hours`.
 */
export default class RagBackend extends Backend {
  readonly resource = "rag";
  override readonly concurrency = "parallel";
  override readonly description =
    "Search over documents: BM25 with feedback, semantic rankings, shared collections and each worker's own.";
  override readonly configSchema = RagConfig;
  readonly #config: RagConfig;
  readonly #shelf: Shelf;
  readonly #groups: readonly object[];
  #tidied = Number.NEGATIVE_INFINITY;

  constructor(setup: BackendSetup) {
    super(setup);
    // A wrong config is reported by whoever checks it against the schema, with the file and the key.
    this.#config = RagConfig.safeParse(setup.config).data ?? RagConfig.parse({});
    this.#shelf = new Shelf(setup.dataDir, this.#config.cache_mib * 1024 * 1024);
    const embedder = this.#config.embeddings && new Embedder(this.#config.embeddings);
    const reranker = this.#config.rerank && new Reranker(this.#config.rerank);
    this.#groups = [
      new SearchTools(this.#shelf, this.#config, { embedder, reranker }),
      new DocumentTools(this.#shelf, this.#config, embedder),
      new ListingTools(this.#shelf, this.#config, embedder),
    ];
  }

  override tools(): ReadonlyMap<string, BoundTool> {
    return scanTools(...this.#groups);
  }

  override async warmup({ logger }: LifecycleContext): Promise<void> {
    await this.#tidy(logger);
  }

  override async shutdown(): Promise<void> {
    await this.#shelf.close();
  }

  async #tidy(logger: LifecycleContext["logger"]): Promise<void> {
    const now = Date.now();
    if (this.#config.unused_hours === 0 || now - this.#tidied < HOUR_MS) return;
    this.#tidied = now;
    const workers = await this.#shelf.tidy(this.#config.unused_hours * HOUR_MS, now);
    if (workers > 0) logger.info({ workers }, "collections that nobody used were removed");
  }
}
