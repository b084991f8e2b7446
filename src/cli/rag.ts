import { join, resolve } from "node:path";
import type { Embedder } from "../backends/rag/dense/embedder.ts";
import type { CollectionIndex } from "../backends/rag/index/collection-index.ts";
import type { Retriever } from "../backends/rag/search/retrieve.ts";
import { systemClock } from "../core/clock.ts";
import { type Command, CommandError, parseFlags, parseNumber, type Terminal, UsageError } from "./command.ts";
import { formatTable } from "./table.ts";

const FLAGS = {
  collection: { type: "string" },
  config: { type: "string" },
  data: { type: "string" },
  prune: { type: "boolean" },
  root: { type: "string" },
  "chunk-tokens": { type: "string" },
  "top-k": { type: "string" },
  retrievers: { type: "string" },
  json: { type: "boolean" },
} as const;

type Values = ReturnType<typeof parseFlags<typeof FLAGS>>["values"];

const DEFAULT_DATA_DIR = ".toolyard";
const CACHE_BYTES = 64 * 1024 * 1024;
const PROGRESS_MS = 2_000;
const CANCELLED = 130;
/** Test collections are indexed by whole documents, as their published figures are measured. */
const WHOLE_TOKENS = 1_000_000;

/** Indexes shared collections, searches them, and measures how good the answers are. */
export const rag: Command = {
  help: `Usage: toolyard rag index PATH ... [--collection N] [flags]
       toolyard rag search QUERY [--collection N] [flags]
       toolyard rag eval FOLDER [flags]

index reads files and folders into a shared collection of the data folder, also while a server uses it; files that did not
change are left alone. A file's id is its path from the folder that holds what was named, wherever the command runs. eval indexes a test collection (the layout of BEIR, or of CACM) into a temporary file and prints what
each ranking is worth, with the bounds of 95 % by the bootstrap.

  --collection N    the collection (default)
  --data DIR        the data folder (.toolyard)
  --config FILE     embed by the endpoint that this config's rag names, for the ranking dense (index, search)
  --prune           also remove what is not among the files
  --root DIR        ids are the files' paths from DIR
  --chunk-tokens N  tokens of a chunk at most (400; eval: whole documents)
  --top-k N         results (5)
  --retrievers R    rankings to put together: bm25, feedback, lsa, dense (bm25,feedback,lsa)
  --json            print the outcome as JSON`,

  async run(args, terminal) {
    const { values, positionals } = parseFlags(args, FLAGS, Number.POSITIVE_INFINITY);
    const [subcommand, ...rest] = positionals;
    const [first, second] = rest;
    if (subcommand === "index") {
      if (first === undefined) throw new UsageError("rag index needs a file or a folder");
      return index(rest, values, terminal);
    }
    if (subcommand !== "search" && subcommand !== "eval") throw new UsageError("rag takes index, search or eval");
    for (const flag of ["prune", "root"] as const)
      if (values[flag] !== undefined) throw new UsageError(`--${flag} belongs to rag index`);
    if (first === undefined)
      throw new UsageError(`rag ${subcommand} needs a ${subcommand === "eval" ? "folder" : "query"}`);
    if (subcommand === "search") return search(rest.join(" "), values, terminal);
    if (second !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(second)}`);
    return evaluateFolder(first, values, terminal);
  },
};

async function index(paths: readonly string[], values: Values, terminal: Terminal): Promise<number> {
  const size = await chunkSize(values, 400);
  const { readFiles } = await import("./rag/read-files.ts");
  const { TwiceNamed } = await import("./rag/twice-named.ts");
  const { indexDocuments } = await import("../backends/rag/index-documents.ts");
  const { configEmbedder } = await import("./rag/config-embedder.ts");
  const embedder = await configEmbedder(values.config, terminal);
  const opened = await openShared(values);
  const cancelled = new AbortController();
  // A second one finds no listener and ends the process at once.
  const cancel = (): void => cancelled.abort(new CommandError("cancelled"));
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, cancel);
  const progress = new Progress(terminal, "documents");
  const twice = new TwiceNamed(opened);
  try {
    const { documents, pruned } = await indexDocuments(opened, twice.watch(readFiles(paths, values.root)), {
      size,
      maxCharacters: 256 * 1024 * 1024,
      signal: cancelled.signal,
      prune: values.prune === true,
      onDocument({ id, status, message }) {
        progress.step();
        if (status === "failed") terminal.warn(`${id}: ${message}`);
      },
    });
    if (values.prune !== true) twice.tell(terminal);
    terminal.warn("tidying up and learning the semantic vectors ...");
    await opened.settled();
    const embedded = embedder && (await embed(opened, embedder, { terminal, signal: cancelled.signal }));
    const count = (status: string) => documents.filter((document) => document.status === status).length;
    const outcome = {
      collection: values.collection ?? "default",
      added: count("added"),
      updated: count("updated"),
      unchanged: count("unchanged"),
      failed: count("failed"),
      removed: pruned,
      ...(embedded !== undefined && { embedded }),
      ...opened.reader.totals(),
      disk_bytes: opened.reader.sizeBytes(),
    };
    if (values.json) terminal.print(JSON.stringify(outcome));
    else terminal.print(formatTable(Object.entries(outcome).map(([key, value]) => [key, String(value)])));
    return outcome.failed > 0 ? 1 : 0;
  } catch (error) {
    if (!cancelled.signal.aborted) throw error;
    terminal.warn("cancelled; what was finished stays, the rest is as before");
    return CANCELLED;
  } finally {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, cancel);
    await opened.close();
  }
}

/** Asks for the vectors that are missing; what was embedded before it fails or is cancelled stays. */
async function embed(
  opened: CollectionIndex,
  embedder: Embedder,
  { terminal, signal }: { readonly terminal: Terminal; readonly signal: AbortSignal },
): Promise<number> {
  const { embedMissing } = await import("../backends/rag/dense/dense-index.ts");
  const progress = new Progress(terminal, "chunks embedded");
  return embedMissing(opened, embedder, signal, (chunks) => progress.step(chunks));
}

async function search(query: string, values: Values, terminal: Terminal): Promise<number> {
  const retrievers = await chooseRetrievers(values);
  const topK = parseNumber("top-k", values["top-k"], { min: 1, max: 10_000, integer: true }) ?? 5;
  const { retrieve } = await import("../backends/rag/search/retrieve.ts");
  const { readSources } = await import("../backends/rag/search/sources.ts");
  const { configEmbedder } = await import("./rag/config-embedder.ts");
  const embedder = await configEmbedder(values.config, terminal);
  if (embedder === undefined && retrievers.includes("dense"))
    throw new UsageError("dense needs --config with a rag that names embeddings");
  const opened = await openShared(values, true);
  try {
    const { query_prefix: prefix = "", model = "" } = embedder?.config ?? {};
    const [vector] = (await embedder?.embed([prefix + query])) ?? [];
    const request = {
      ...({ query, topK, retrievers, fusion: "score", perDocument: false, filter: undefined } as const),
      ...(vector !== undefined && { dense: { model, query: vector } }),
    };
    const { results, notes } = readSources([{ name: "shared", shared: opened, own: undefined }], (parts) => {
      const { chunks, notes: said } = retrieve(parts, request);
      const found = chunks.map(({ hit, document, heading, start, end, text }) => ({
        ...{ document: document.id, score: hit.score, heading, start, end, retrievers: hit.ranks, text: text() },
      }));
      return { results: found, notes: said.map(({ retriever, note }) => ({ retriever, note })) };
    });
    if (values.json) terminal.print(JSON.stringify({ query, results, notes }));
    else if (results.length === 0) terminal.print("nothing was found");
    for (const { document, score, heading, text } of values.json ? [] : results) {
      terminal.print(`${score.toFixed(3)}  ${document}${heading === null ? "" : `  ${heading}`}`);
      terminal.print(`       ${text.replace(/\s+/g, " ").trim().slice(0, 200)}`);
    }
    return 0;
  } finally {
    await opened.close();
  }
}

async function evaluateFolder(folder: string, values: Values, terminal: Terminal): Promise<number> {
  const size = await chunkSize(values, WHOLE_TOKENS);
  const chosen = values.retrievers === undefined ? undefined : await chooseRetrievers(values);
  const { evaluateRankings } = await import("./rag/evaluate-rankings.ts");
  const progress = new Progress(terminal, "documents");
  const measured = await evaluateRankings(folder, { size, chosen, onDocument: () => progress.step() });
  if (values.json) {
    terminal.print(JSON.stringify(measured));
    return 0;
  }
  const { queries, rankings } = measured;
  const names = Object.keys(rankings[0]?.measures ?? {});
  const rows = rankings.map(({ ranking, measures }) => [
    ranking,
    ...Object.values(measures).map(
      ({ mean, low, high }) => `${mean.toFixed(4)} [${low.toFixed(3)}, ${high.toFixed(3)}]`,
    ),
  ]);
  terminal.print(`${measured.collection}: ${measured.documents} documents, ${queries} judged queries`);
  terminal.print(formatTable([["ranking", ...names], ...rows]));
  return 0;
}

async function openShared(values: Values, mustExist = false) {
  const { CollectionName } = await import("../backends/rag/config.ts");
  const name = CollectionName.safeParse(values.collection ?? "default");
  if (!name.success) throw new UsageError(`--collection: ${name.error.issues[0]?.message}`);
  const path = join(resolve(values.data ?? DEFAULT_DATA_DIR), "rag", "shared", `${name.data}.sqlite`);
  const { existsSync } = await import("node:fs");
  if (mustExist && !existsSync(path)) throw new CommandError(`there is no shared collection ${name.data} in ${path}`);
  const { CollectionIndex } = await import("../backends/rag/index/collection-index.ts");
  const { PostingsCache } = await import("../backends/rag/index/postings-cache.ts");
  return CollectionIndex.open(path, new PostingsCache(CACHE_BYTES));
}

async function chunkSize(values: Values, otherwise: number) {
  const { toChunkSize } = await import("../backends/rag/config.ts");
  const tokens = parseNumber("chunk-tokens", values["chunk-tokens"], { min: 32, max: WHOLE_TOKENS, integer: true });
  return toChunkSize(tokens ?? otherwise, 40);
}

async function chooseRetrievers({ retrievers }: Values): Promise<Retriever[]> {
  const { DEFAULT_RETRIEVERS, RETRIEVERS } = await import("../backends/rag/search/retrieve.ts");
  if (retrievers === undefined) return [...DEFAULT_RETRIEVERS];
  return retrievers.split(",").map((name) => {
    const known = RETRIEVERS.find((one) => one === name.trim());
    if (known === undefined)
      throw new UsageError(`--retrievers takes ${RETRIEVERS.join(", ")}, not ${JSON.stringify(name)}`);
    return known;
  });
}

/** Tells now and then how far it is. */
class Progress {
  readonly #terminal: Terminal;
  readonly #what: string;
  readonly #started = systemClock.now();
  #told = systemClock.now();
  #count = 0;

  constructor(terminal: Terminal, what: string) {
    this.#terminal = terminal;
    this.#what = what;
  }

  step(count = 1): void {
    this.#count += count;
    const now = systemClock.now();
    if (now - this.#told < PROGRESS_MS) return;
    this.#told = now;
    const rate = Math.round((this.#count * 1_000) / (now - this.#started));
    this.#terminal.warn(`${this.#count} ${this.#what}, ${rate} a second`);
  }
}
