import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import DsBackend from "../../../src/backends/ds/backend.ts";
import { type Call, caller } from "../../kit/tool-caller.ts";
import { testServer } from "../../kit/test-server.ts";
import { makeSeeds } from "./seed-folder.ts";
import { makeWorkbook } from "./workbook-file.ts";

async function on(files: Readonly<Record<string, string | Buffer>>, config: object = {}): Promise<Call> {
  const folder = makeSeeds({});
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const server = await testServer({ backends: [new DsBackend({ config: { folders: [folder], ...config } })] });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return caller(server);
}

const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le");

describe("a CSV as people write it", () => {
  it("loses no row unsaid", async () => {
    const call = await on({
      "quote.csv": `a,b\n"he said ""hi""",'single'\n'x,y',2\n`,
      "ragged.csv": 'a,b\n1\n1,2,3\n"unclosed,4\n5,6\n',
      "remark.csv": "# a remark\na,b\n1,2\n#3,4\n",
      "title.csv": "Report 2024\n\na,b,c\n1,2,3\n4,5,6\n7,8,9\n",
      "list.csv": 'text\n"one, two"\nthree\n',
    });
    const read = (csv_file: string) => call("ds:read_csv", { csv_file });
    // Both rows fit where it is the single quotes that quote.
    expect(await read("quote.csv")).toMatchObject({ columns: ["a", "b"], total_rows: 2 });
    expect(await read("ragged.csv")).toMatchObject({
      columns: ["a", "b", "column2"],
      total_rows: 4,
      note: expect.stringContaining("as text"),
    });
    expect(await read("remark.csv")).toMatchObject({
      columns: ["a", "b"],
      total_rows: 2,
      note: "read without its first line",
    });
    expect(await read("title.csv")).toMatchObject({
      columns: ["a", "b", "c"],
      types: ["BIGINT", "BIGINT", "BIGINT"],
      total_rows: 3,
      note: "read without its first 2 lines",
    });
    expect(await read("list.csv")).toMatchObject({ columns: ["text"], rows: [["one, two"], ["three"]], note: null });
  });

  it("is read in its encoding, by its mark and by what it holds", async () => {
    const call = await on({
      "unicode.csv": utf16("name,n\nJosé,1\n東京,2\n"),
      "big-endian.csv": utf16("name,n\nx,1\n").swap16(),
      "unmarked.csv": Buffer.from("name,n\nx,1\n", "utf16le"),
      "latin.csv": Buffer.from("name,n\nJosé,1\n", "latin1"),
      "marked.csv": "\uFEFFname,n\nJosé,1\n",
    });
    const read = (csv_file: string) => call("ds:read_csv", { csv_file });
    expect(await read("unicode.csv")).toMatchObject({
      columns: ["name", "n"],
      rows: [
        ["José", 1],
        ["東京", 2],
      ],
      note: null,
    });
    expect(await read("big-endian.csv")).toMatchObject({
      failed: "business_failure",
      message: expect.stringContaining("big-endian"),
    });
    expect(await read("unmarked.csv")).toMatchObject({
      failed: "business_failure",
      message: expect.stringContaining("zero bytes"),
    });
    expect(await read("latin.csv")).toMatchObject({ rows: [["José", 1]], note: "read as Latin-1" });
    expect(await read("marked.csv")).toMatchObject({ columns: ["name", "n"], rows: [["José", 1]], note: null });
  });

  it("has types that hold for all of its rows, and names that may be anything", async () => {
    const many = Array.from({ length: 30_000 }, (_, row) => `${row},2024-01-0${1 + (row % 9)}`).join("\n");
    const call = await on({
      "late.csv": `n,day\n${many}\nnone,2024-02-01\n`,
      "names.csv": `it's,"a ""b""","c, d"\n1,2,3\n`,
      "dates.csv": "d\n31/12/2024\n01/02/2024\n",
      "windows.csv": "a,b\r\n1,x\r\n2,y\r\n",
      "tabs.tsv": "a,b\tc\n1,5\t2\n",
    });
    const read = (csv_file: string) => call("ds:read_csv", { csv_file, max_rows: 1 });
    expect(await read("late.csv")).toMatchObject({ types: ["VARCHAR", "DATE"], total_rows: 30_001, note: null });
    expect(await read("names.csv")).toMatchObject({ columns: ["it's", 'a "b"', "c, d"], rows: [[1, 2, 3]] });
    expect(await read("dates.csv")).toMatchObject({ types: ["DATE"], rows: [["2024-12-31"]] });
    expect(await read("windows.csv")).toMatchObject({ types: ["BIGINT", "VARCHAR"], rows: [[1, "x"]] });
    expect(await read("tabs.tsv")).toMatchObject({ columns: ["a,b", "c"], rows: [["1,5", 2]] });
  });

  it("is measured although some of its numbers are infinite or none, as pandas writes them", async () => {
    const call = await on({
      "nan.csv": "a,b\n1.5,NaN\ninf,2\n1e200,3\n",
      "plain.csv": "n\n1\n3\n",
    });
    const { files } = await call("ds:inspect_data", {});
    expect(files).toMatchObject([
      {
        file: "nan.csv",
        rows: 3,
        columns: [
          { name: "a", mean: null, standard_deviation: null },
          { name: "b", mean: null, standard_deviation: null },
        ],
      },
      { file: "plain.csv", columns: [{ name: "n", mean: 2, standard_deviation: Math.SQRT2 }] },
    ]);
  });

  it("that is empty, or one endless line, is refused at once and by name", async () => {
    const call = await on({
      "empty.csv": "",
      "line.csv": "x".repeat(3_000_000),
      "late.csv": `a\n1\n${"x".repeat(3_000_000)}\n`,
    });
    expect(await call("ds:read_csv", { csv_file: "empty.csv" })).toMatchObject({
      failed: "business_failure",
      message: "empty.csv is empty",
    });
    for (const csv_file of ["line.csv", "late.csv"]) {
      // oxlint-disable-next-line no-await-in-loop -- two
      expect(await call("ds:read_csv", { csv_file })).toMatchObject({ failed: "limit_exceeded" });
    }
  });
});

describe("a workbook", () => {
  it("names its sheets to who asks for one that it has not", async () => {
    const call = await on({ "book.xlsx": makeWorkbook({ One: [["k"], [1]], Two: [["k"], [2]] }), "a.csv": "x\n1\n" });
    expect(await call("ds:read_csv", { csv_file: "book.xlsx", sheet: "Two" })).toMatchObject({ rows: [[2]] });
    expect(await call("ds:read_csv", { csv_file: "book.xlsx", sheet: "Three" })).toMatchObject({
      failed: "invalid_input",
      message: "book.xlsx has no sheet Three",
    });
    expect(await call("ds:read_csv", { csv_file: "a.csv", sheet: "One" })).toMatchObject({ failed: "invalid_input" });
  });
});

describe("an inspection", () => {
  it("gives each file its own memory and its share of the time (C04)", async () => {
    // One cell in the last corner that a sheet has: 1.4 KB that ask for gigabytes.
    const corner = makeWorkbook({ S: { A1: 1, XFD1048576: 2 } });
    const call = await on({ "corner.xlsx": corner, "ok.csv": "a\n1\n", "z.csv": "b\n2\n" }, { memory_mib: 400 });
    const { files } = await call("ds:inspect_data", { timeout_ms: 200_000 });
    const by = Object.fromEntries(files.map((file: { file: string }) => [file.file, file]));
    expect(Object.keys(by).toSorted()).toEqual(["corner.xlsx", "ok.csv", "z.csv"]);
    expect(by["ok.csv"]).toMatchObject({ rows: 1 });
    expect(by["z.csv"]).toMatchObject({ rows: 1 });
    expect(by["corner.xlsx"]).toHaveProperty("error");
  });
});
