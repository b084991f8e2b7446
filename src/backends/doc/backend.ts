import { Backend, type BackendSetup } from "../../core/backend.ts";
import { type BoundTool, scanTools } from "../../core/tool.ts";
import { DocConfig } from "./config.ts";
import { ProcessPool } from "../../processes/process-pool.ts";
import { DocumentStore } from "./document-store.ts";
import { LibraryTools } from "./library-tools.ts";
import { ReadTools } from "./read-tools.ts";
import { SearchTools } from "./search-tools.ts";

const JOBS = new URL(`./jobs${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
const IDLE_MS = 60_000;

/** Takes documents in, finds their sections and reads them. It has no sessions: a document stays until it is deleted. */
export default class DocBackend extends Backend {
  readonly resource = "doc";
  override readonly concurrency = "parallel";
  override readonly description = "Documents by their sections and pages: PDF, DOCX, XLSX, HTML, Markdown.";
  override readonly configSchema = DocConfig;
  readonly #store: DocumentStore;
  readonly #readers: ProcessPool;
  readonly #groups: readonly object[];

  constructor(setup: BackendSetup) {
    super(setup);
    // A wrong config is reported by whoever checks it against the schema, with the file and the key.
    const config = DocConfig.safeParse(setup.config).data ?? DocConfig.parse({});
    this.#store = new DocumentStore(setup.dataDir);
    this.#readers = new ProcessPool({ module: JOBS, maxProcesses: config.processes, idleMs: IDLE_MS });
    const model = config.model && setup.openChatModel?.(config.model);
    this.#groups = [
      new LibraryTools(this.#store, this.#readers, config),
      new SearchTools(this.#store, config),
      new ReadTools(this.#store, config, model),
    ];
  }

  override tools(): ReadonlyMap<string, BoundTool> {
    return scanTools(...this.#groups);
  }

  override async shutdown(): Promise<void> {
    this.#readers.close();
    await this.#store.close();
  }
}
