// One step of the benchmark of rag, in a process of its own, whose memory is that of this step: `index` or `search`.
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { CollectionIndex } from "../dist/backends/rag/index/collection-index.js";
import { PostingsCache } from "../dist/backends/rag/index/postings-cache.js";
import { indexDocuments } from "../dist/backends/rag/index-documents.js";
import { DEFAULT_RETRIEVERS, retrieve, type Retriever } from "../dist/backends/rag/search/retrieve.js";
import { readSources } from "../dist/backends/rag/search/sources.js";
import { percentile } from "./load.ts";
import { zipfTexts } from "./zipf-words.ts";

const WORDS_OF_CHUNK = 120;
const WORDS_OF_QUERY = 4;
const QUERIES = 200;
const MIB = 1_048_576;

const [phase = "", path = "", size = "0"] = process.argv.slice(2);
mkdirSync(dirname(path), { recursive: true });
const index = await CollectionIndex.open(path, new PostingsCache(64 * MIB));
console.log(JSON.stringify(await (phase === "index" ? makeIndex(Number(size)) : search())));
await index.close();

async function makeIndex(count: number) {
  const text = zipfTexts(1);
  const facts = { title: null, source: null, name: undefined, mediaType: "text/plain", metadata: undefined };
  const documents = function* () {
    for (let id = 0; id < count; id++) yield { id: `d${id}`, content: text(WORDS_OF_CHUNK), ...facts };
  };
  const prepare = { size: { maxTokens: 400, minTokens: 80, overlapTokens: 40 }, maxCharacters: 1_000_000 };
  const started = performance.now();
  let told = started;
  let done = 0;
  const onDocument = (): void => {
    done += 1;
    const now = performance.now();
    if (now - told < 60_000) return;
    told = now;
    console.error(`${done} of ${count}, ${Math.round((done * 1_000) / (now - started))} a second`);
  };
  await indexDocuments(index, documents(), { ...prepare, onDocument });
  const indexed = performance.now();
  await index.settled();
  return {
    "indexed, chunks a second": Math.round((count * 1_000) / (indexed - started)),
    "merged and learned, s": Number(((performance.now() - indexed) / 1_000).toFixed(1)),
    "indexing, peak RSS, MiB": peakMiB(),
    "disk, MiB": Math.round(index.reader.sizeBytes() / MIB),
  };
}

function search() {
  const query = zipfTexts(2);
  return {
    chunks: index.reader.totals().chunks,
    "bm25 p50 / p99, ms": latency(query, ["bm25"]),
    "feedback p50 / p99, ms": latency(query, ["feedback"]),
    "bm25 + feedback + lsa p50 / p99, ms": latency(query, DEFAULT_RETRIEVERS),
    "searching, peak RSS, MiB": peakMiB(),
  };
}

function latency(query: (words: number) => string, retrievers: readonly Retriever[]): string {
  const options = { topK: 10, retrievers, fusion: "score", perDocument: false, filter: undefined } as const;
  const times = Array.from({ length: QUERIES }, () => {
    const request = { ...options, query: query(WORDS_OF_QUERY) };
    const start = performance.now();
    readSources([{ name: "bench", shared: index, own: undefined }], (parts) =>
      retrieve(parts, request).chunks.map((found) => found.text()),
    );
    return performance.now() - start;
  });
  return [50, 99].map((percent) => percentile(times, percent).toFixed(1)).join(" / ");
}

function peakMiB(): number {
  return Math.round(process.resourceUsage().maxRSS / 1_024);
}
