import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ReadParams, ReadResult } from "../../../src/backends/code/file-schemas.ts";
import { readFile } from "../../../src/backends/code/read-file.ts";
import type { SandboxFiles } from "../../../src/core/sandbox-files.ts";

const never = new AbortController().signal;

/** One file, of these bytes. */
function fileOf(content: Buffer): SandboxFiles {
  const partial: Partial<SandboxFiles> = {
    stat: async (path) => ({
      path,
      kind: "file",
      sizeBytes: content.length,
      mode: 0o644,
      modifiedAt: 0,
      owner: 1,
      group: 1,
    }),
    read: async (_path, { offset, length }) => content.subarray(offset, offset + length),
  };
  // Reading asks nothing else of it.
  return partial as SandboxFiles;
}

const read = async (content: Buffer | string, params: object = {}) =>
  ReadResult.parse(await readFile(fileOf(Buffer.from(content)), ReadParams.parse({ path: "f", ...params }), never));

describe("file:read", () => {
  it("answers a text whole, with its lines counted", async () => {
    expect(await read("a\nb\n")).toMatchObject({
      encoding: "utf-8",
      content: "a\nb\n",
      size_bytes: 4,
      length: 4,
      start_line: 1,
      end_line: 2,
      total_lines: 2,
      truncated: false,
    });
    expect(await read("a\nb")).toMatchObject({ end_line: 2, total_lines: 2 });
    expect(await read("")).toMatchObject({ content: "", total_lines: 0, end_line: 0, encoding: "utf-8" });
  });

  it("answers lines, with their numbers if asked, and no more than there are", async () => {
    const text = "one\ntwo\nthree\nfour\n";
    expect(await read(text, { start_line: 2, end_line: 3, line_numbers: true })).toMatchObject({
      content: "     2\ttwo\n     3\tthree\n",
      offset: 4,
      length: 10,
      start_line: 2,
      end_line: 3,
      total_lines: null,
    });
    expect(await read(text, { start_line: 4, end_line: 99 })).toMatchObject({ content: "four\n", total_lines: 4 });
    expect(await read(text, { start_line: 9 })).toMatchObject({ content: "", length: 0, total_lines: 4 });
  });

  it("answers bytes, cut where characters end", async () => {
    const text = "a€b";
    expect(await read(text, { offset: 1, length: 3 })).toMatchObject({ content: "€", offset: 1, length: 3 });
    expect(await read(text, { offset: 2, length: 3 })).toMatchObject({ content: "b", offset: 4, length: 1 });
    expect(await read(text, { offset: 0, length: 2 })).toMatchObject({ content: "a", offset: 0, length: 1 });
  });

  it("A08 answers what is not text as base64, byte for byte", async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0, 1, 2]);
    expect(await read(bytes)).toMatchObject({ encoding: "base64", content: bytes.toString("base64"), length: 5 });
    expect(await read(bytes)).toMatchObject({ start_line: null, total_lines: null });
    await expect(read(bytes, { encoding: "utf-8" })).rejects.toMatchObject({ error: "business_failure" });
    expect(await read("text", { encoding: "base64" })).toMatchObject({ content: "dGV4dA==" });
  });

  it("says what it left out", async () => {
    expect(await read("abcdef", { max_bytes: 3 })).toMatchObject({ content: "abc", truncated: true, size_bytes: 6 });
    expect(await read("abcdef", { offset: 1, max_bytes: 3 })).toMatchObject({ content: "bcd", truncated: true });
    expect(await read("abcdef", { max_bytes: 6 })).toMatchObject({ truncated: false, total_lines: 1 });
  });

  it("refuses to be asked for lines and bytes at once, or backwards", () => {
    expect(ReadParams.safeParse({ path: "f", start_line: 1, offset: 1 }).success).toBe(false);
    expect(ReadParams.safeParse({ path: "f", start_line: 2, end_line: 1 }).success).toBe(false);
  });

  it("gives any text back by lines and by bytes, read on from where it stopped", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme" }), fc.integer({ min: 4, max: 9 }), async (text, step) => {
        const clean = text.replaceAll("\0", "");
        const size = Buffer.byteLength(clean);
        let [byBytes, at] = ["", 0];
        while (at < size) {
          const part = await read(clean, { offset: at, length: step });
          expect(part.encoding).toBe("utf-8");
          byBytes += part.content;
          at = part.offset + part.length;
        }
        expect(byBytes).toBe(clean);
        const { total_lines: lines } = await read(clean);
        let byLines = "";
        for (let line = 1; line <= (lines ?? 0); line += 1)
          byLines += (await read(clean, { start_line: line, end_line: line })).content;
        expect(byLines).toBe(clean);
      }),
      { numRuns: 50 },
    );
  });
});
