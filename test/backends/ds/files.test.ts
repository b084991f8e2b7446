import { once } from "node:events";
import { existsSync, mkdirSync, realpathSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import DsBackend from "../../../src/backends/ds/backend.ts";
import { XLSX } from "../../kit/office-files.ts";
import { zipArchive } from "../../kit/zip-archive.ts";
import { type Call, caller } from "../../kit/tool-caller.ts";
import { type TestServer, testServer } from "../../kit/test-server.ts";
import { makeParquet, makeSeeds, SALES } from "./seed-folder.ts";
import { makeWorkbook } from "./workbook-file.ts";

async function openServer(config: Record<string, unknown>): Promise<Call> {
  const server = await testServer({ backends: [new DsBackend({ config })] });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return caller(server);
}

describe("a folder of data", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await testServer({ backends: [new DsBackend({ config: { folders: [realpathSync(tmpdir())] } })] });
  });
  afterAll(() => server[Symbol.asyncDispose]());
  const on =
    (seed_path: string): Call =>
    (action, params, more) =>
      caller(server)(action, { seed_path, ...params }, more);

  it("is inspected from all of its rows, CSV, Parquet and XLSX alike, and told as text, too", async () => {
    const folder = makeSeeds({
      "sales.csv": SALES,
      "deep/stock.xlsx": makeWorkbook({
        Stock: [
          ["metal", "tons"],
          ["copper", 7],
          ["zinc", null],
        ],
        Other: [["a"], [1]],
      }),
      "notes.txt": "no data",
    });
    await makeParquet(join(folder, "many.parquet"), "SELECT i, i % 10 AS d FROM range(5000) t(i)");
    const call = on(folder);
    const { result, files, files_omitted } = await call("ds:inspect_data");
    expect(files.map(({ file, sheet }: { file: string; sheet: string | null }) => [file, sheet])).toEqual([
      ["deep/stock.xlsx", "Stock"],
      ["deep/stock.xlsx", "Other"],
      ["many.parquet", null],
      ["sales.csv", null],
    ]);
    expect(files_omitted).toBe(0);
    expect(files[0]).toMatchObject({
      rows: 2,
      missing_values: 1,
      columns: [{ name: "metal" }, { type: "BIGINT", max: 7 }],
    });
    expect(files[2]).toMatchObject({ rows: 5000, columns: [{ distinct: 5000, min: 0, max: 4999 }, { distinct: 10 }] });
    expect(files[3]).toMatchObject({
      ...{ format: "csv", rows: 4, missing_values: 2, duplicates: 1, names: ["sales.csv", "sales"] },
      columns: [
        { name: "month", type: "BIGINT", is_numeric: true, missing: 0, distinct: 3, mean: 2.25 },
        { name: "region", type: "VARCHAR", is_numeric: false, missing: 2, min: "north", max: "south" },
        { name: "sales", type: "DOUBLE", max: 160, samples: expect.arrayContaining([135.5]) },
      ],
    });
    expect(result).toContain("sales.csv:\nThis dataset contains 4 rows and 3 columns.");
    expect(result).toContain("Data requires cleaning: found 2 missing values, 1 duplicates.");
    expect(result).toContain("Key attributes include: [i, d]");
  });

  it("answers to the known names and params, and keeps to the number of files and characters of the known config", async () => {
    const folder = makeSeeds({ "a.csv": SALES, "b.csv": SALES, "c.csv": SALES });
    const call = await openServer({ folders: [folder], ds_max_csv: 2, ds_summary_max_chars: 200 });
    const { result, files, files_omitted } = await call("ds_inspect_data", { seed_path: folder });
    expect([files.length, files_omitted]).toEqual([2, 1]);
    expect(result).toMatch(/^a\.csv:[^]{190,200}\n\n\.\.\. \[truncated: \d+ characters in all\] \.\.\.$/);
    expect(await call("ds_read_csv", { csv_file: "a.csv", max_rows: 2, seed_path: folder })).toMatchObject({
      result:
        "a.csv\nmonth,region,sales\n1,north,120\n2,south,135.5\n... Truncated, showing first 2 rows out of 4 total rows ...",
    });
  });

  it("tells of each file that cannot be read, and of the others what they hold", async () => {
    const folder = makeSeeds({
      "bad.parquet": "PAR1 it is not",
      "bad.xlsx": "PK neither",
      "good.csv": SALES,
      "latin.csv": Buffer.from("name,city\nJosé,Köln\n", "latin1"),
      "ragged.csv": 'a,b\n1,2\n3,4,5,6\n"7,8\n',
      "empty.csv": "",
    });
    const call = on(folder);
    const { files, result } = await call("ds:inspect_data");
    const by = Object.fromEntries(files.map((profile: { file: string }) => [profile.file, profile]));
    expect(by["bad.parquet"].error).toContain("bad.parquet cannot be read");
    expect(by["bad.parquet"].error).not.toMatch(/\/proc|\/tmp/);
    expect(by["bad.xlsx"]).toHaveProperty("error");
    expect(by["good.csv"]).toMatchObject({ rows: 4 });
    expect(by["latin.csv"]).toMatchObject({ rows: 1, columns: [{ samples: ["José"] }, { samples: ["Köln"] }] });
    expect(by["ragged.csv"].rows ?? by["ragged.csv"].error).toBeDefined();
    expect(result).toContain("bad.xlsx:\nError processing file");
  });

  it("is previewed with exact limits: truncated only when there is more", async () => {
    const folder = makeSeeds({ "sales.csv": SALES });
    const call = on(folder);
    const read = (params: object) => call("ds:read_csv", { csv_file: "sales.csv", ...params });
    expect(await read({ max_rows: 4 })).toMatchObject({ row_count: 4, total_rows: 4, truncated: false });
    expect(await read({ max_rows: 3 })).toMatchObject({ row_count: 3, total_rows: 4, truncated: true });
    expect(await read({ offset: 3 })).toMatchObject({ rows: [[3, null, 160]], truncated: false });
  });

  it("is queried in SQL, each file under its name, sheets of workbooks too", async () => {
    const folder = makeSeeds({
      "sales.csv": SALES,
      'it\'s a "file".csv': "x\n5\n",
      "book.xlsx": makeWorkbook({
        One: [["k"], ["a"]],
        Two: [
          ["k", "v"],
          ["b", 2],
        ],
      }),
    });
    const call = on(folder);
    const query = async (text: string, more: object = {}) => call("ds:query", { query: text, ...more });
    expect(await query("SELECT sum(sales) AS s FROM sales")).toMatchObject({ columns: ["s"], rows: [[575.5]] });
    expect(await query(`SELECT count(*) FROM "sales.csv" JOIN 'it''s a "file".csv' ON x > month`)).toMatchObject({
      rows: [[4]],
    });
    expect(await query(`SELECT v FROM "book.xlsx/Two"`)).toMatchObject({ rows: [[2]] });
    expect(await query(`SELECT k FROM book UNION ALL SELECT k FROM "book/Two"`)).toMatchObject({
      rows: [["a"], ["b"]],
    });
    expect(await query("SELECT month FROM sales ORDER BY month", { max_rows: 4 })).toMatchObject({ truncated: false });
    expect(await query("SELECT month FROM sales ORDER BY month", { max_rows: 3 })).toMatchObject({ truncated: true });
    expect(await query("SELECT nope FROM sales")).toMatchObject({ failed: "business_failure", outcome: "tool_error" });
  });

  it("lets SQL read its files and nothing else of the machine", async () => {
    const folder = makeSeeds({ "sales.csv": SALES });
    const beside = join(dirname(folder), "beside.csv");
    writeFileSync(beside, "secret\n1\n");
    const call = on(folder);
    for (const query of [
      "SELECT * FROM read_csv('/etc/passwd')",
      "SELECT * FROM read_text('/etc/passwd')",
      "SELECT * FROM '/etc/passwd'",
      `SELECT * FROM read_csv('${beside}')`,
      `SELECT * FROM read_csv('${folder}/../beside.csv')`,
      "SELECT * FROM glob('/*')",
      "SELECT * FROM read_csv('http://127.0.0.1/x.csv')",
      "COPY (SELECT 1) TO '/tmp/toolyard-ds-out'",
      "CREATE TABLE t (a INTEGER)",
      "ATTACH '/tmp/toolyard-ds.db'",
      "INSTALL httpfs",
      "SET enable_external_access = true",
      "SELECT 1; SELECT 2",
    ]) {
      // oxlint-disable-next-line no-await-in-loop
      const answer = await call("ds:query", { query });
      expect(["invalid_input", "business_failure"], `${query}: ${JSON.stringify(answer)}`).toContain(answer["failed"]);
    }
  });

  it("interrupts a query that never ends (D8)", async () => {
    const call = on(makeSeeds({ "sales.csv": SALES }));
    const query = "SELECT count(*) FROM range(100000000000) a, range(1000000) b";
    expect(await call("ds:query", { query, timeout_ms: 1_000 })).toMatchObject({ failed: "timeout", outcome: "limit" });
  });
});

describe("paths", () => {
  it("stay in their folder, whatever way they are written (C01)", async () => {
    const folder = makeSeeds({ "in/ok.csv": SALES });
    mkdirSync(`${folder}2`);
    writeFileSync(join(`${folder}2`, "other.csv"), SALES);
    const call = await openServer({ folders: [folder] });
    for (const csv_file of [
      "../seed2/other.csv",
      "in/../../seed2/other.csv",
      join(`${folder}2`, "other.csv"),
      "..\\seed2\\other.csv",
      "/etc/passwd",
      "in",
      "in/ok.csv\0.csv",
      `${"a".repeat(4096)}.csv`,
      "file:///etc/passwd.csv",
      "%2e%2e/seed2/other.csv",
    ]) {
      // oxlint-disable-next-line no-await-in-loop
      const { failed, outcome, message } = await call("ds:read_csv", { csv_file });
      expect(["path_refused", "path_not_found", "invalid_input"], csv_file).toContain(failed);
      expect(["rejected", "tool_error"]).toContain(outcome);
      // What is said of the machine is what the caller said itself.
      expect(message.replace(csv_file, "")).not.toContain(dirname(folder));
    }
    expect(await call("ds:read_csv", { csv_file: "in/./ok.csv" })).toHaveProperty("row_count", 4);
    expect(await call("ds:read_csv", { csv_file: join(folder, "in/ok.csv") })).toHaveProperty("row_count", 4);
  });

  it("of a seed name a configured folder or one inside of it: /a/seed2 is not in /a/seed", async () => {
    const folder = makeSeeds({ "in/ok.csv": SALES });
    mkdirSync(`${folder}2`);
    writeFileSync(join(`${folder}2`, "other.csv"), SALES);
    const call = await openServer({ folders: [folder] });
    for (const seed_path of [`${folder}2`, dirname(folder), "/", "..", "../seed2", `${folder}/../seed2`, "/nowhere"]) {
      // oxlint-disable-next-line no-await-in-loop
      expect(await call("ds:inspect_data", { seed_path }), seed_path).toMatchObject({ failed: "path_refused" });
    }
    for (const seed_path of [folder, "in", join(folder, "in")]) {
      // oxlint-disable-next-line no-await-in-loop
      expect((await call("ds:inspect_data", { seed_path }))["files"], seed_path).toHaveLength(1);
    }
  });

  it("are judged by what they lead to: links out of the folder are not followed (C02)", async () => {
    const folder = makeSeeds({ "real.csv": SALES });
    writeFileSync(join(dirname(folder), "outside.csv"), "secret\n1\n");
    symlinkSync("../outside.csv", join(folder, "out.csv"));
    symlinkSync("..", join(folder, "up"));
    symlinkSync("real.csv", join(folder, "in.csv"));
    symlinkSync("loop.csv", join(folder, "loop.csv"));
    const call = await openServer({ folders: [folder] });
    expect(await call("ds:read_csv", { csv_file: "out.csv" })).toMatchObject({ failed: "path_refused" });
    expect(await call("ds:read_csv", { csv_file: "up/outside.csv" })).toMatchObject({ failed: "path_refused" });
    expect(await call("ds:inspect_data", { seed_path: "up" })).toMatchObject({ failed: "path_refused" });
    expect(await call("ds:read_csv", { csv_file: "loop.csv" })).toMatchObject({ failed: "path_not_found" });
    expect(await call("ds:read_csv", { csv_file: "in.csv" })).toHaveProperty("row_count", 4);
    const { files } = await call("ds:inspect_data");
    expect(files.map(({ file }: { file: string }) => file)).toEqual(["in.csv", "real.csv"]);
  });

  it("never lead out by a link that is swapped while they are read (C02)", async () => {
    const folder = makeSeeds({ "real.csv": "word\nours\n" });
    writeFileSync(join(dirname(folder), "outside.csv"), "word\nsecret\n");
    const link = join(folder, "link.csv");
    symlinkSync("real.csv", link);
    const call = await openServer({ folders: [folder] });
    let swaps = 0;
    const swap = setInterval(() => {
      symlinkSync(swaps++ % 2 === 0 ? "../outside.csv" : "real.csv", `${link}.new`);
      renameSync(`${link}.new`, link);
    }, 1);
    onTestFinished(() => clearInterval(swap));
    for (let round = 0; round < 12; round += 1) {
      // oxlint-disable-next-line no-await-in-loop
      const answer = await call("ds:read_csv", { csv_file: "link.csv" });
      expect(JSON.stringify(answer)).not.toContain("secret");
      expect(["path_refused", "path_not_found", undefined]).toContain(answer["failed"]);
    }
    expect(swaps).toBeGreaterThan(2);
  });

  it("to what is no regular file are refused, and nothing waits for them (C05)", async () => {
    const folder = makeSeeds({ "real.csv": SALES });
    execFileSync("mkfifo", [join(folder, "pipe.csv")]);
    symlinkSync("/dev/zero", join(folder, "zero.csv"));
    const socket = createServer().listen(join(folder, "socket.csv"));
    onTestFinished(() => void socket.close());
    await once(socket, "listening");
    const call = await openServer({ folders: [folder] });
    expect(await call("ds:read_csv", { csv_file: "pipe.csv" })).toMatchObject({ failed: "path_refused" });
    expect(await call("ds:read_csv", { csv_file: "zero.csv" })).toMatchObject({ failed: "path_refused" });
    expect(await call("ds:read_csv", { csv_file: "socket.csv" })).toMatchObject({ failed: "path_refused" });
    expect((await call("ds:inspect_data"))["files"]).toHaveLength(1);
  });

  it("in a workbook's archive are no paths of ours: nothing is written of it (C03)", async () => {
    const mark = `toolyard-c03-${crypto.randomUUID()}`;
    const names = [`../${mark}`, `/tmp/${mark}`, `xl/../../../../../tmp/${mark}`, `..\\${mark}`];
    const slip = zipArchive({ ...XLSX, ...Object.fromEntries(names.map((name) => [name, "slipped"])) });
    const folder = makeSeeds({ "slip.xlsx": slip });
    const call = await openServer({ folders: [folder] });
    expect(await call("ds:read_csv", { csv_file: "slip.xlsx" })).toMatchObject({ rows: [["copper", 7]] });
    for (const path of [join("/tmp", mark), join(dirname(folder), mark), join("/", mark)]) {
      expect(existsSync(path), path).toBe(false);
    }
  });

  it("refuse params that are none before anything is read (D10)", async () => {
    const call = await openServer({ folders: [makeSeeds({ "sales.csv": SALES })] });
    for (const [tool, params] of [
      ["ds:read_csv", {}],
      ["ds:read_csv", { csv_file: 7 }],
      ["ds:read_csv", { csv_file: "sales.csv", max_rows: 0 }],
      ["ds:query", { query: "" }],
      ["ds:inspect_data", { files: [] }],
      ["ds:inspect_data", { source: "disk" }],
      ["ds:run_python", { code: "1", return_vars: ["a b"] }],
      ["ds:run_python", { code: "1", folder: "/etc" }],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop
      expect((await call(tool, params))["failed"], JSON.stringify(params)).toMatch(
        /^(?:missing_field|invalid_(?:type|input))$/,
      );
    }
  });

  it("to a workbook that would unpack to far too much, or to more than it says, are refused before it is unpacked (C04)", async () => {
    const sheets = { A: [["a"], [1]] };
    const folder = makeSeeds({
      "bomb.xlsx": makeWorkbook(sheets, 0x7fff_ffff),
      "liar.xlsx": makeWorkbook(sheets, 1, true),
    });
    const call = await openServer({ folders: [folder] });
    for (const csv_file of ["bomb.xlsx", "liar.xlsx"]) {
      // oxlint-disable-next-line no-await-in-loop
      expect(await call("ds:read_csv", { csv_file }), csv_file).toMatchObject({
        failed: "limit_exceeded",
        limit: "unpacked_bytes",
        max: 512 * 1024 * 1024,
      });
    }
  });

  it("need a folder that is configured, or a sandbox", async () => {
    const call = await openServer({});
    expect(await call("ds:inspect_data")).toMatchObject({ failed: "dependency_failed", outcome: "infra_error" });
    expect(await call("ds:read_csv", { csv_file: "/etc/passwd", seed_path: "/etc" })).toMatchObject({
      failed: "invalid_input",
    });
  });
});
