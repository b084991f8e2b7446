// Benchmark: the inverted index of the rag backend at 3k and 100k synthetic chunks, and 1M with RAG_BENCH_LARGE=1.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CollectionIndex } from "../dist/backends/rag/index/collection-index.js";
import { PostingsCache } from "../dist/backends/rag/index/postings-cache.js";
import { retrieve, type Retriever } from "../dist/backends/rag/search/retrieve.js";
import { readSources } from "../dist/backends/rag/search/sources.js";
import { seededRandom } from "../dist/backends/rag/seeded-random.js";
import { indexDocuments } from "../dist/backends/rag/index-documents.js";
import { printTable } from "./table.ts";

const WORDS = 60_000;
const LENGTH = 120;
const QUERIES = 200;
const sizes = [3_000, 100_000, ...(process.env["RAG_BENCH_LARGE"] === "1" ? [1_000_000] : [])];
const random = seededRandom(1);

/** A word by Zipf's law, of letters so that stems and stop words behave as ever. */
function word(): string {
  const rank = Math.floor(WORDS ** random());
  return `w${rank.toString(36).replace(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "")}x`;
}
const sentence = (length: number) => Array.from({ length }, word).join(" ");

const rows: Record<string, string | number>[] = [];
for (const size of sizes) {
  const folder = await mkdtemp(join(tmpdir(), "toolyard-rag-bench-"));
  const index = await CollectionIndex.open(join(folder, "bench.sqlite"), new PostingsCache(64 * 1024 * 1024));
  const documents = function* () {
    for (let id = 0; id < size; id++) {
      const facts = { title: null, source: null, name: undefined, mediaType: "text/plain", metadata: undefined };
      yield { id: `d${id}`, content: sentence(LENGTH), ...facts };
    }
  };
  const prepare = { size: { maxTokens: 400, minTokens: 80, overlapTokens: 40 }, maxCharacters: 1_000_000 };
  const started = performance.now();
  await indexDocuments(index, documents(), prepare);
  const indexed = performance.now();
  await index.settled();
  const settled = performance.now();
  const latency = (retrievers: readonly Retriever[]): string => {
    const times = Array.from({ length: QUERIES }, () => {
      const query = sentence(4);
      const start = performance.now();
      const request = { query, topK: 10, retrievers, fusion: "score", perDocument: false, filter: undefined } as const;
      readSources([{ name: "bench", shared: index, own: undefined }], (parts) =>
        retrieve(parts, request).map((found) => found.text()),
      );
      return performance.now() - start;
    }).toSorted((left, right) => left - right);
    return [0.5, 0.99].map((share) => times[Math.floor(share * QUERIES)]?.toFixed(1)).join(" / ");
  };
  rows.push({
    chunks: index.reader.totals().chunks,
    "indexed, chunks a second": Math.round((size * 1_000) / (indexed - started)),
    "merged and learned, s": ((settled - indexed) / 1_000).toFixed(1),
    "bm25 p50 / p99, ms": latency(["bm25"]),
    "feedback p50 / p99, ms": latency(["feedback"]),
    "feedback + lsa p50 / p99, ms": latency(["feedback", "lsa"]),
    "RSS, MiB": Math.round(process.memoryUsage.rss() / 1024 / 1024),
    "disk, MiB": Math.round(index.reader.sizeBytes() / 1024 / 1024),
  });
  await index.close();
  await rm(folder, { recursive: true, force: true });
}
printTable("rag: synthetic chunks of 120 words", rows);
