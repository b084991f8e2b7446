import { statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { indexDocuments } from "../../../src/backends/rag/index-documents.ts";
import { decodePostings, encodePostings, readPostings } from "../../../src/backends/rag/index/codec.ts";
import { CollectionIndex } from "../../../src/backends/rag/index/collection-index.ts";
import { compareTerms } from "../../../src/backends/rag/index/maintenance.ts";
import { PostingsCache } from "../../../src/backends/rag/index/postings-cache.ts";
import { Statements } from "../../../src/backends/rag/index/statements.ts";
import { Folder } from "../../../src/backends/rag/lsa/fold.ts";
import { rankByTerms } from "../../../src/backends/rag/ranking/bm25.ts";
import { ByteVectors } from "../../../src/backends/rag/ranking/byte-vectors.ts";
import { VectorBlob } from "../../../src/backends/rag/ranking/vector-blob.ts";
import { seededRandom } from "../../../src/backends/rag/seeded-random.ts";
import { analyze, countTerms } from "../../../src/backends/rag/text/analyze.ts";
import { TimeSlice } from "../../../src/backends/rag/time-slice.ts";
import { Gate } from "../../kit/gate.ts";

const OPTIONS = { size: { maxTokens: 400, minTokens: 80, overlapTokens: 40 }, maxCharacters: 1_000_000 };

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toolyard-rag-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openIndex(path?: string): Promise<CollectionIndex> {
  const file = path ?? join(await temporaryFolder(), "index.sqlite");
  const index = await CollectionIndex.open(file, new PostingsCache(1024 * 1024));
  onTestFinished(() => index.close());
  return index;
}

const toDocument = (id: string, content: string) => ({
  id,
  content,
  title: null,
  source: null,
  name: undefined,
  mediaType: "text/plain",
  metadata: undefined,
});
const put = (index: CollectionIndex, documents: Readonly<Record<string, string>>) =>
  indexDocuments(
    index,
    Object.entries(documents).map(([id, text]) => toDocument(id, text)),
    OPTIONS,
  );
const remove = (index: CollectionIndex, ids: readonly string[]) =>
  index.write(async (writer) => ids.filter((id) => writer.remove(id)).length);

/** The ids of the documents that a query finds, best first, with their scores. */
function search(index: CollectionIndex, query: string, limit = 10): [string, number][] {
  return index.reader.read(({ segments }) => {
    const parts = segments.map((view) => ({ reader: index.reader, view }));
    return rankByTerms(parts, countTerms(analyze(query)), limit).map(({ chunk, score }) => {
      const row = index.reader.chunk(chunk);
      return [row === undefined ? "gone" : (index.reader.documentByNumber(row.document)?.id ?? "gone"), score];
    });
  });
}
const found = (index: CollectionIndex, query: string, limit = 10) => search(index, query, limit).map(([id]) => id);

/** Documents that share words with each other, the same in every run. */
function manyDocuments(count: number, prefix = "d"): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `${prefix}${String(index).padStart(5, "0")}`,
      `report ${index} on ${["copper", "zinc", "iron", "tin"][index % 4]} from mine number${index % 37} with grade${index % 11}`,
    ]),
  );
}

describe("an index", () => {
  it("ranks sensibly when it is tiny: a term in half of the documents still counts", async () => {
    const index = await openIndex();
    await put(index, { a: "the copper mine", b: "copper copper and more copper", c: "a zinc mine" });
    expect(found(index, "copper")).toEqual(["b", "a"]);
    const scores = search(index, "copper mine").map(([, score]) => score);
    expect(scores).toHaveLength(3);
    expect(Math.min(...scores)).toBeGreaterThan(0.01);
  });

  it("ranks alike however the documents came and went", async () => {
    const documents = manyDocuments(300);
    const atOnce = await openIndex();
    await put(atOnce, documents);
    const bitByBit = await openIndex();
    await put(bitByBit, manyDocuments(40, "x"));
    for (let start = 0; start < 300; start += 15) {
      // oxlint-disable-next-line no-await-in-loop
      await put(bitByBit, Object.fromEntries(Object.entries(documents).slice(start, start + 15)));
    }
    await remove(bitByBit, Object.keys(manyDocuments(40, "x")));
    const compare = () => {
      for (const query of ["copper", "zinc grade3", "report number5 tin", "nothing"]) {
        const expected = search(atOnce, query, 300);
        const actual = search(bitByBit, query, 300);
        expect(actual.map(([id]) => id)).toEqual(expected.map(([id]) => id));
        for (const [at, [, score]] of actual.entries()) expect(score).toBeCloseTo(expected[at]?.[1] ?? 0, 9);
      }
    };
    compare();
    await bitByBit.settled();
    compare();
    expect(bitByBit.reader.snapshot().segments.length).toBeLessThan(8);
  });

  it("shows a generation only when all of it is there", async () => {
    const index = await openIndex();
    await put(index, { a: "old copper", b: "old zinc" });
    const { generation } = index.reader;
    const gate = new Gate();
    const half = new Gate();
    const writing = indexDocuments(
      index,
      (async function* () {
        yield toDocument("a", "new copper");
        yield toDocument("c", "new tin");
        half.open();
        await gate.passed;
        yield toDocument("d", "new iron");
      })(),
      OPTIONS,
    );
    await half.passed;
    expect(found(index, "new")).toEqual([]);
    expect(found(index, "old copper")).toEqual(["a", "b"]);
    expect(index.reader.generation).toBe(generation);
    gate.open();
    await writing;
    expect(found(index, "new").toSorted()).toEqual(["a", "c", "d"]);
    expect(found(index, "old")).toEqual(["b"]);
  });

  it("keeps nothing of a generation that was given up, nor of one whose process died", async () => {
    const path = join(await temporaryFolder(), "index.sqlite");
    const index = await openIndex(path);
    await put(index, { a: "old copper" });
    const failing = index.write(async (writer) => {
      writer.remove("a");
      throw new Error("enough");
    });
    await expect(failing).rejects.toThrow("enough");
    expect(found(index, "copper")).toEqual(["a"]);
    await index.settled();
    // What a process leaves that dies before it publishes.
    const raw = new Database(path);
    raw.exec(`
      INSERT INTO documents (id, media_type, digest, characters, bytes, first_chunk, chunks, indexed_at, added)
        VALUES ('ghost', 'text/plain', x'00', 0, 0, 0, 0, 0, 99);
      UPDATE documents SET removed = 99 WHERE id = 'a';`);
    raw.close();
    expect(found(index, "copper")).toEqual(["a"]);
    await put(index, { b: "more copper" });
    expect(found(index, "copper").toSorted()).toEqual(["a", "b"]);
    expect(index.reader.list("", 10).map(({ id }) => id)).toEqual(["a", "b"]);
  });

  it("leaves unchanged documents alone, and takes the last of the same id", async () => {
    const index = await openIndex();
    await put(index, { a: "copper", b: "zinc" });
    const { generation } = index.reader;
    const again = await put(index, { a: "copper", b: "zinc" });
    expect(again.documents.map(({ status }) => status)).toEqual(["unchanged", "unchanged"]);
    expect(index.reader.generation).toBe(generation);
    const twice = await indexDocuments(index, [toDocument("c", "first tin"), toDocument("c", "second tin")], OPTIONS);
    expect(twice.documents.map(({ status }) => status)).toEqual(["added", "updated"]);
    expect(found(index, "tin")).toEqual(["c"]);
    expect(found(index, "first")).toEqual([]);
  });

  it("frees the space of what is deleted", async () => {
    const index = await openIndex();
    const filler = "lorem ipsum dolor sit amet consectetur ".repeat(40);
    const documents = Object.entries(manyDocuments(1_000)).map(([id, text]) => [id, `${text} ${filler}`] as const);
    await put(index, Object.fromEntries(documents));
    await index.settled();
    const full = statSync(index.path).size;
    await remove(
      index,
      documents.slice(10).map(([id]) => id),
    );
    await index.settled();
    expect(found(index, "lorem", 100)).toHaveLength(10);
    expect(statSync(index.path).size).toBeLessThan(full / 8);
    expect(statSync(`${index.path}-wal`).size).toBe(0);
  });

  it("refuses a second writer of another connection, and lets readers see its last generation", async () => {
    const path = join(await temporaryFolder(), "index.sqlite");
    const [first, second] = [await openIndex(path), await openIndex(path)];
    await put(first, { a: "copper" });
    await first.settled();
    expect(found(second, "copper")).toEqual(["a"]);
    const gate = new Gate();
    const entered = new Gate();
    const holding = first.write(async (writer) => {
      writer.remove("a");
      entered.open();
      await gate.passed;
    });
    await entered.passed;
    await expect(put(second, { b: "zinc" })).rejects.toMatchObject({ error: "conflict" });
    expect(found(second, "copper")).toEqual(["a"]);
    gate.open();
    await holding;
    await first.settled();
    expect(found(second, "copper")).toEqual([]);
    await put(second, { b: "zinc" });
    expect(found(first, "zinc")).toEqual(["b"]);
  });

  it("refuses a file of a newer Toolyard", async () => {
    const path = join(await temporaryFolder(), "index.sqlite");
    const index = await openIndex(path);
    index.database.pragma("user_version = 99");
    await index.close();
    await expect(openIndex(path)).rejects.toMatchObject({ error: "dependency_failed" });
  });

  it("gives text back as it was, halves of characters at the seams of its rows included", async () => {
    const index = await openIndex();
    const text = `${"a".repeat(16_383)}😀${"b".repeat(40_000)}😀`;
    await put(index, { long: text });
    const row = index.reader.document("long");
    expect(row?.characters).toBe(text.length);
    expect(index.reader.text(row?.document ?? 0, 0, text.length)).toBe(text);
    expect(index.reader.text(row?.document ?? 0, 16_380, 16_390)).toBe(text.slice(16_380, 16_390));
    expect(index.reader.text(row?.document ?? 0, 33_000, 33_010)).toBe(text.slice(33_000, 33_010));
  });
});

describe("postings", () => {
  it("are read a stretch at a time as at once", () => {
    const gaps = fc.array(fc.tuple(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 300 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 500 }), (pairs, block) => {
        let last = -1;
        const ordinals = Uint32Array.from(pairs, ([gap]) => (last += gap));
        const frequencies = Uint32Array.from(pairs, ([, frequency]) => frequency);
        const bytes = encodePostings({ ordinals, frequencies });
        const place = { at: 0, previous: -1 };
        const into = { ordinals: new Uint32Array(block), frequencies: new Uint32Array(block) };
        const read: [number, number][] = [];
        for (let start = 0; place.at < bytes.length; start += block) {
          const count = readPostings(bytes, place, { end: block, ...into });
          for (let at = 0; at < count; at++) read.push([start + (into.ordinals[at] ?? 0), into.frequencies[at] ?? 0]);
          place.previous -= block;
        }
        expect(read).toEqual(Array.from(ordinals, (ordinal, at) => [ordinal, frequencies[at]]));
      }),
    );
  });

  it("are read as they were written", () => {
    const entries = fc.uniqueArray(fc.tuple(fc.nat(1 << 30), fc.integer({ min: 1, max: 100_000 })), {
      selector: ([ordinal]) => ordinal,
    });
    fc.assert(
      fc.property(entries, (pairs) => {
        const sorted = pairs.toSorted(([left], [right]) => left - right);
        const ordinals = Uint32Array.from(sorted.map(([ordinal]) => ordinal));
        const frequencies = Uint32Array.from(sorted.map(([, frequency]) => frequency));
        expect(decodePostings(encodePostings({ ordinals, frequencies }), ordinals.length)).toEqual({
          ordinals,
          frequencies,
        });
      }),
    );
  });

  it("that are cut short are refused", () => {
    const bytes = encodePostings({ ordinals: Uint32Array.of(5, 900), frequencies: Uint32Array.of(1, 3) });
    expect(() => decodePostings(bytes.subarray(0, bytes.length - 1), 2)).toThrow(RangeError);
  });

  it("of terms are ordered as the database orders them", () => {
    const database = new Database(":memory:");
    onTestFinished(() => void database.close());
    const statement = database.prepare("SELECT ? < ?").pluck();
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (left, right) => {
        if (!left.isWellFormed() || !right.isWellFormed() || /\0/.test(left + right)) return;
        expect(compareTerms(left, right) < 0).toBe(statement.get(left, right) === 1);
      }),
    );
  });
});

describe("learning from what was written", () => {
  const random = seededRandom(3);
  const word = () => `word${Math.floor(900 * random() ** 2).toString(36)}x`;
  const texts = (prefix: string, count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`${prefix}${at}`, Array.from({ length: 30 }, word).join(" ")]),
    );

  it("is put off while others wait to write, and done after the last of them", async () => {
    const index = await openIndex();
    await Promise.all([put(index, texts("a", 250)), put(index, texts("b", 250)), put(index, texts("c", 500))]);
    await index.settled();
    // The first one that was learned is from all that was written.
    expect(index.semantic.model()).toMatchObject({ model: 1, chunks: 1_000 });
  });

  it("makes the same vectors however many chunks it makes at once, across segments and restarts", async () => {
    const path = join(await temporaryFolder(), "index.sqlite");
    const index = await openIndex(path);
    await put(index, texts("a", 500));
    await index.settled();
    await put(index, texts("b", 30));
    await index.settled();
    const model = index.semantic.model();
    if (model === undefined) throw new Error("nothing was learned");
    const { segments } = index.reader.snapshot();
    expect(segments).toHaveLength(2);
    const statements = new Statements(index.database);
    const again = await openIndex(path);
    const scores = (vectors: ByteVectors | undefined) => {
      const into = new Float64Array(vectors?.count ?? 0);
      vectors?.score(model.basis.slice(0, model.rank), into, 0);
      return into;
    };
    for (const view of segments) {
      const vectors = new ByteVectors(model.rank, view.ids.length);
      let at = 0;
      // oxlint-disable-next-line no-await-in-loop
      for await (const blob of new Folder(statements, model, 500, 64).fold(
        view.segment,
        view.ids.length,
        new TimeSlice(),
      )) {
        const made = VectorBlob.of(model.rank, blob);
        vectors.load(at, made);
        at += made.scales.length;
      }
      expect(at).toBe(view.ids.length);
      expect(scores(index.semantic.vectors(model, view))).toEqual(scores(vectors));
      expect(scores(again.semantic.vectors(model, view))).toEqual(scores(vectors));
    }
    const blocks = "SELECT count(*) AS count FROM semantic_vectors";
    expect(statements.get(blocks)).toEqual({ count: 2 });
  });

  it("begins anew when it was ended in the middle, and leaves nothing of what it had", async () => {
    const index = await openIndex();
    await put(index, texts("a", 250));
    await index.settled();
    const before = index.semantic.model();
    // A process that learned, and ended before the model was there.
    index.database.exec("INSERT INTO semantic_vectors VALUES (7, 1, 0, x'00'), (1, 99, 0, x'00')");
    expect(index.semantic.model()).toBe(before);
    await put(index, texts("b", 250));
    await index.settled();
    expect(index.semantic.model()).toMatchObject({ model: 2, chunks: 500 });
    const rows = index.database.prepare("SELECT DISTINCT model FROM semantic_vectors").all();
    expect(rows).toEqual([{ model: 2 }]);
  });

  it("keeps nobody waiting who closes the index", async () => {
    const index = await openIndex();
    await put(index, texts("a", 250));
    await index.close();
    expect(() => index.semantic.model()).toThrow(/not open/);
  });
});
