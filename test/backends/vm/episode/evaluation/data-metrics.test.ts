import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCsv } from "../../../../../src/backends/vm/episode/evaluation/metrics/csv.ts";
import { toPlace } from "../../../../../src/backends/vm/episode/evaluation/metrics/workbook.ts";
import { createWorkbook } from "../../../../kit/workbook.ts";
import { file, json, passed, score } from "./judging.ts";

const config = JSON.stringify({ editor: { tabSize: 4, theme: "Dark+" }, list: [1, 2, 3] });
const book = createWorkbook({
  Sales: [
    ["Item", "Price"],
    ["Tea", 3.10001],
    ["Coffee", 4],
  ],
  Notes: [["  Hello, World! "]],
});

describe("the metrics of JSON", () => {
  it.each([
    [{ expect: [{ key: ["editor", "tabSize"], method: "eq", ref: 4 }] }, true],
    [{ expect: [{ key: ["editor", "theme"], method: "re", ref: "^dark" }] }, false],
    [{ expect: [{ key: ["editor", "theme"], method: "prefix", ref: "Dark" }] }, true],
    [{ expect: [{ key: ["list", -1], method: "ge", ref: 3 }] }, true],
    [{ expect: [{ key: ["list"], method: "contains", ref: 2 }] }, true],
    [{ expect: [{ key: ["list", 0], method: "approx:0.5", ref: 1.4 }] }, true],
    [{ expect: [{ key: ["list", 0], method: "in", ref: [1, 9] }] }, true],
    [{ expect: [{ key: ["nowhere"], method: "ne", ref: 1 }] }, false],
    [{ unexpect: [{ key: ["editor", "tabSize"], method: "eq", ref: 4 }] }, false],
    [{ unexpect: [{ key: ["editor", "tabSize"], method: "lt", ref: 4 }] }, true],
  ])("check_json by %j: %s", async (rules, good) => {
    expect(await score("check_json", file("settings.json", config), json(rules))).toMatchObject({
      score: good ? 1 : 0,
    });
  });

  it("compare objects by keys and values, and whole files", async () => {
    const found = file("a.json", config);
    expect(await score("check_direct_json_object", found, json({ expected: { list: [1, 2, 3] } }))).toEqual(passed);
    expect(await score("check_direct_json_object", found, json({ expected: { list: [1] } }))).toMatchObject({
      score: 0,
    });
    const within = json({ expected: { list: [1] }, expect_in_result: true });
    expect(await score("check_direct_json_object", found, within)).toEqual(passed);
    const other = file("b.json", '{"list":[3,2,1.05],"editor":{"theme":"dark+","tabSize":4}}');
    expect(await score("compare_json", found, other)).toMatchObject({ score: 0 });
    const loose = { ignore_order: true, ignore_case: true, tolerance: 0.1 };
    expect(await score("compare_json", found, other, loose)).toEqual(passed);
  });

  it("give nothing for what is no JSON, and blame the evaluator for its own", async () => {
    expect(await score("compare_json", file("a.json", "{"), json({}))).toMatchObject({ kind: "score", score: 0 });
    expect(await score("compare_json", json({}), file("b.json", "{"))).toMatchObject({ kind: "mistake" });
    const wrong = json({ expect: [{ key: ["a"], method: "resembles", ref: 1 }] });
    expect(await score("check_json", json({ a: 1 }), wrong)).toMatchObject({ kind: "mistake" });
  });
});

describe("the metrics of tables", () => {
  it("compare the data of XLSX and CSV sheets by a precision", async () => {
    const close = createWorkbook({
      Other: [
        ["Item", "Price"],
        ["Tea", 3.1],
        ["Coffee", 4],
      ],
    });
    const options = { rules: [{ type: "sheet_data", sheet_idx0: 0, sheet_idx1: "EI0", precision: 2 }] };
    expect(await score("compare_table", file("a.xlsx", book), file("b.xlsx", close), options)).toEqual(passed);
    const strict = { rules: [{ type: "sheet_data", precision: 5 }] };
    expect(await score("compare_table", file("a.xlsx", book), file("b.xlsx", close), strict)).toMatchObject({
      score: 0,
      reason: "row 2, column 2 is 3.10001 and not 3.1",
    });
    const csv = file("b.csv", "Item,Price\r\nTea,3.10\r\nCoffee,4\r\n");
    expect(await score("compare_table", file("a.xlsx", book), csv, options)).toEqual(passed);
  });

  it.each([
    [{ type: "sheet_name" }, true],
    [{ type: "sheet_print", sheet_idx0: "RNNotes", sheet_idx1: "EI1" }, true],
    [{ type: "sheet_data", sheet_idx0: "RI1", sheet_idx1: "EI0" }, false],
    [
      { type: "check_cell", sheet_idx: 0, coordinate: "B2", props: { value: { method: "approx:0.001", ref: 3.1 } } },
      true,
    ],
    [
      { type: "check_cell", sheet_idx: "RNSales", coordinate: "A3", props: { value: { method: "eq", ref: "Tea" } } },
      false,
    ],
    [
      {
        type: "sheet_fuzzy",
        sheet_idx0: "RNNotes",
        sheet_idx1: "ENNotes",
        rules: [{ range: ["A1:B2"], type: "fuzzy_match", threshold: 90, ignore_chars: "!", trim_leadings: " " }],
      },
      true,
    ],
  ])("compare_table by %j: %s", async (rule, good) => {
    const judged = await score("compare_table", file("a.xlsx", book), file("b.xlsx", book), { rules: [rule] });
    expect(judged).toMatchObject({ kind: "score", score: good ? 1 : 0 });
  });

  it("give nothing for what is no spreadsheet or lacks the sheet, and blame the evaluator for its own", async () => {
    const rules = (index: string) => ({ rules: [{ type: "sheet_data", sheet_idx0: index }] });
    expect(await score("compare_table", file("a.xlsx", "PK no"), file("b.xlsx", book))).toMatchObject({ score: 0 });
    expect(await score("compare_table", file("a.xlsx", "text"), file("b.xlsx", book))).toMatchObject({ score: 0 });
    expect(await score("compare_table", file("a.xlsx", book), file("b.xlsx", book), rules("RI7"))).toMatchObject({
      score: 0,
      reason: "it has no sheet RI7",
    });
    const lacking = { rules: [{ type: "sheet_data", sheet_idx1: "EI7" }] };
    expect(await score("compare_table", file("a.xlsx", book), file("b.xlsx", book), lacking)).toMatchObject({
      kind: "mistake",
    });
    expect(await score("compare_table", file("a.xlsx", book))).toMatchObject({ kind: "mistake" });
    const unknown = { rules: [{ type: "chart" }] };
    expect(await score("compare_table", file("a.xlsx", book), file("b.xlsx", book), unknown)).toMatchObject({
      kind: "mistake",
    });
  });

  it("compare CSV by rows, and look for rows by their columns' names", async () => {
    const csv = file("a.csv", 'name,age\n"Doe, Jane", 41\nBob,7\n');
    expect(await score("compare_csv", csv, file("b.csv", 'name,age\n"doe, jane",41\nbob,7'))).toMatchObject({
      score: 0,
    });
    const loose = { strict: false, ignore_case: true };
    expect(await score("compare_csv", csv, file("b.csv", 'name,age\n"doe, jane",41\nbob,7'), loose)).toEqual(passed);
    const rules = {
      expect: [{ name: "Doe, Jane", age: 41 }, { age: { method: "lt", ref: 10 } }],
      unexpect: [{ name: "Eve" }],
    };
    expect(await score("check_csv", csv, json(rules))).toEqual(passed);
    expect(await score("check_csv", csv, json({ expect: [{ name: "Bob", age: "8" }] }))).toMatchObject({ score: 0 });
  });

  it("read back any CSV that is written by the rules", () => {
    const cell = fc.stringMatching(/^[a-z",\n ]{0,6}$/);
    const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(table, (rows) => {
        const quoted = rows.map((row) => row.map((one) => `"${one.replaceAll('"', '""')}"`).join(","));
        expect(parseCsv(`${quoted.join("\n")}\n`)).toEqual(rows);
      }),
    );
  });

  it("know cells by their names", () => {
    expect([toPlace("A1"), toPlace("$B$3"), toPlace("aa10"), toPlace("A0"), toPlace("1")]).toEqual([
      { row: 0, column: 0 },
      { row: 2, column: 1 },
      { row: 9, column: 26 },
      undefined,
      undefined,
    ]);
  });
});
