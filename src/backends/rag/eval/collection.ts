import { createReadStream } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { gunzipSync } from "node:zlib";
import { ToolyardError } from "../../../core/errors.ts";

/** A document of a test collection. */
export interface TestDocument {
  readonly id: string;
  readonly title: string | null;
  readonly text: string;
}

/** A test collection: documents, queries, and which documents answer which query. */
export interface TestCollection {
  readonly name: string;
  documents(): AsyncIterable<TestDocument>;
  readonly queries: ReadonlyMap<string, string>;
  /** Grades above 0, by query and document. */
  readonly judgements: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/**
 * Opens a test collection in the layout of CACM (`cacm.tar.gz`, `topics.cacm.txt`, `qrels.cacm.txt`) or of BEIR (`corpus.jsonl`,
 * `queries.jsonl`, `qrels/test.tsv`).
 *
 * @throws ToolyardError `invalid_input` for a folder of another layout
 */
export async function openTestCollection(folder: string, split = "test"): Promise<TestCollection> {
  const names = new Set(await readdir(folder).catch(() => []));
  if (names.has("cacm.tar.gz")) return openCacm(folder);
  if (names.has("corpus.jsonl") && names.has("queries.jsonl")) return openBeir(folder, split);
  throw new ToolyardError("invalid_input", `${folder} holds no test collection`, {
    suggestion:
      "It has to hold corpus.jsonl, queries.jsonl and qrels/test.tsv (BEIR), or cacm.tar.gz, topics.cacm.txt and qrels.cacm.txt (CACM).",
  });
}

async function openCacm(folder: string): Promise<TestCollection> {
  const [topics, qrels] = await Promise.all(
    ["topics.cacm.txt", "qrels.cacm.txt"].map((name) => readFile(join(folder, name), "utf8")),
  );
  const queries = new Map<string, string>();
  for (const [, id = "", text = ""] of (topics ?? "").matchAll(/<DOCNO>\s*(\S+)\s*<\/DOCNO>([\s\S]*?)<\/DOC>/g)) {
    queries.set(id, text.trim());
  }
  return {
    name: "cacm",
    queries,
    judgements: parseJudgements(qrels ?? "", { query: 0, document: 2, grade: 3 }),
    async *documents() {
      const archive = gunzipSync(await readFile(join(folder, "cacm.tar.gz")));
      const files = [...readTar(archive)].filter(({ name }) => name.endsWith(".html"));
      for (const { name, content } of files.toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
        // The numbers after the text are its citations: they are content, only the tags are not.
        const text = content.toString("utf8").replace(/<[^>]*>/g, " ");
        yield { id: basename(name, ".html"), title: null, text: text.trim() };
      }
    },
  };
}

async function openBeir(folder: string, split: string): Promise<TestCollection> {
  const queries = new Map<string, string>();
  for await (const { _id: id, text } of readLines(join(folder, "queries.jsonl"))) queries.set(String(id), String(text));
  const qrels = await readFile(join(folder, "qrels", `${split}.tsv`), "utf8");
  return {
    name: basename(folder),
    queries,
    judgements: parseJudgements(qrels.replace(/^query-id.*\n/, ""), { query: 0, document: 1, grade: 2 }),
    async *documents() {
      for await (const { _id: id, title, text } of readLines(join(folder, "corpus.jsonl"))) {
        yield { id: String(id), title: typeof title === "string" && title !== "" ? title : null, text: String(text) };
      }
    },
  };
}

async function* readLines(path: string): AsyncGenerator<Record<string, unknown>> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() !== "") yield JSON.parse(line);
  }
}

function parseJudgements(
  text: string,
  columns: { readonly query: number; readonly document: number; readonly grade: number },
): Map<string, Map<string, number>> {
  const judgements = new Map<string, Map<string, number>>();
  for (const line of text.split("\n")) {
    const fields = line.trim().split(/\s+/);
    const query = fields[columns.query] ?? "";
    const grade = Number(fields[columns.grade]);
    if (!(grade > 0)) continue;
    const ofQuery = judgements.get(query) ?? new Map<string, number>();
    judgements.set(query, ofQuery.set(fields[columns.document] ?? "", grade));
  }
  return judgements;
}

const BLOCK = 512;

/** Reads the plain files of a tar archive. */
function* readTar(archive: Buffer): Generator<{ readonly name: string; readonly content: Buffer }> {
  for (let at = 0; at + BLOCK <= archive.length; ) {
    const name = archive.toString("utf8", at, at + 100).replace(/\0.*$/s, "");
    if (name === "") return;
    const size = Number.parseInt(archive.toString("latin1", at + 124, at + 136), 8) || 0;
    const type = archive[at + 156];
    if (type === 0x30 || type === 0) yield { name, content: archive.subarray(at + BLOCK, at + BLOCK + size) };
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
}
