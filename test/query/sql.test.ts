import Database from "better-sqlite3";
import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quoteName, quoteText } from "../../src/query/sql/quote.ts";
import { asksForOrder, readingStatement, splitStatements } from "../../src/query/sql/statement.ts";
import { type Dialect, tokenize } from "../../src/query/sql/tokens.ts";

const DIALECTS = ["sqlite", "duckdb", "postgres"] as const;

/** Pieces in which a semicolon is no end of a statement, and some words. */
const piece = (dialect: Dialect) =>
  fc.oneof(
    fc.string().map((text) => quoteText(text.replaceAll("\0", ""))),
    fc.string().map((text) => quoteName(text.replaceAll("\0", ""))),
    fc.string().map((text) => `/*${text.replaceAll(/\*|\//g, " ")}*/`),
    fc.string().map((text) => `--${text.replaceAll(/\n/g, " ")}\n`),
    fc.constantFrom("select", "a", "1.5e3", "(", ")", ",", "*", "::", "0x1F", "x'00'", "/", "-"),
    dialect === "sqlite"
      ? fc.string().map((text) => `[${text.replaceAll(/\]|\0/g, " ")}]`)
      : fc.string().map((text) => `$t$${text.replaceAll("$", " ")}$t$`),
  );

describe.each(DIALECTS)("statements of %s", (dialect) => {
  it("are as many as there are ends of them, whatever strings, names and comments hold", () => {
    const statement = fc.array(piece(dialect), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(statement, { maxLength: 4 }), (all) => {
        const texts = all.map((pieces) => ["x", ...pieces].join(" "));
        const found = splitStatements(texts.join(" ; "), dialect);
        expect(found).toHaveLength(all.length);
        expect(found.every(({ verb }) => verb === "X")).toBe(true);
      }),
    );
  });

  it("are cut from any text without an error, in pieces that follow one another", () => {
    const noise = fc.string({ unit: fc.constantFrom(..."'\"`[]$;-/*()ab1.eE\\ \n\0ä😀".split("")), maxLength: 60 });
    fc.assert(
      fc.property(fc.oneof(noise, fc.string({ unit: "binary" })), (text) => {
        let at = 0;
        for (const { start, end } of tokenize(text, dialect)) {
          expect(start).toBeGreaterThanOrEqual(at);
          expect(end).toBeGreaterThan(start);
          at = end;
        }
        expect(at).toBeLessThanOrEqual(text.length);
      }),
    );
  });
});

describe("against the engines", () => {
  it("SQLite takes for one statement what is one here", () => {
    const database = new Database(":memory:");
    const separators = fc.constantFrom(" ; ", ";", "\n;--;\n");
    const parts = fc.array(
      fc.constantFrom("select 1", "select ';'", 'select 1 as ";"', "select 1 as [;]", "/*;*/", "--;\n"),
    );
    fc.assert(
      fc.property(parts, separators, (statements, separator) => {
        const text = statements.join(separator);
        let isOne = true;
        try {
          database.prepare(text);
        } catch (error) {
          // It says so of none and of several; anything else is a fault of this test.
          if (!(error instanceof RangeError)) throw error;
          isOne = false;
        }
        expect(splitStatements(text, "sqlite").length === 1, text).toBe(isOne);
      }),
    );
    database.close();
  });

  it("DuckDB counts the statements that are counted here", async () => {
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    const parts = fc.array(
      fc.constantFrom(
        "select 1",
        "select ';'",
        'select 1 as ";"',
        "select $$;$$",
        "select $a$ ; $$ $a$",
        "select e'\\';'",
        "/* ; /* ; */ ; */ select 2",
        "select 1 --;\n",
      ),
      { minLength: 1 },
    );
    await fc.assert(
      fc.asyncProperty(parts, async (statements) => {
        const text = statements.join(";");
        const { count } = await connection.extractStatements(text);
        expect(splitStatements(text, "duckdb").length, text).toBe(count);
      }),
      { numRuns: 60 },
    );
    connection.closeSync();
    instance.closeSync();
  });

  it("both read back every name and text that is quoted here", async () => {
    const sqlite = new Database(":memory:");
    const instance = await DuckDBInstance.create(":memory:");
    const duckdb = await instance.connect();
    const name = fc
      .string({ unit: "binary", minLength: 1, maxLength: 20 })
      .filter((text) => !/\0|[\ud800-\udfff]/.test(text));
    await fc.assert(
      fc.asyncProperty(name, name, async (column, text) => {
        const query = `SELECT v AS ${quoteName(column)} FROM (SELECT ${quoteText(text)} AS v) AS s`;
        const statement = sqlite.prepare(query).raw(true);
        expect([statement.columns()[0]?.name, statement.get()]).toEqual([column, [text]]);
        const result = await duckdb.run(query);
        expect([result.columnNames(), await result.getRows()]).toEqual([[column], [[text]]]);
        const [{ tokens } = { tokens: [] }] = splitStatements(query, "sqlite");
        expect(tokens.find(({ kind }) => kind === "name")?.text).toBe(column);
        expect(tokens.find(({ kind }) => kind === "string")?.text).toBe(text);
      }),
      { numRuns: 80 },
    );
    duckdb.closeSync();
    instance.closeSync();
    sqlite.close();
  });
});

describe("what reads", () => {
  it("is told by its first word, behind parentheses and comments", () => {
    for (const query of [
      "select 1",
      " ( SELECT 1 )",
      "/* DELETE */ WITH a AS (SELECT 1) SELECT * FROM a;",
      "VALUES (1)",
      "explain select 1",
    ]) {
      for (const dialect of DIALECTS) expect(readingStatement(query, dialect).text, query).not.toBe("");
    }
    for (const query of [
      "delete from t",
      "PRAGMA x",
      "attach 'a' as b",
      '"select" 1',
      "'select'",
      "",
      "--",
      "select 1; ;select 2",
      "(delete)",
      "1",
    ]) {
      for (const dialect of DIALECTS) expect(() => readingStatement(query, dialect), query).toThrow();
    }
    expect(() => readingStatement("select * from 'pragma_database_list'", "sqlite")).toThrow("may not be used");
    expect(() => readingStatement("select * from PRAGMA_database_list()", "sqlite")).toThrow("may not be used");
    expect(readingStatement("select 'dblink'", "postgres").verb).toBe("SELECT");
  });

  it("asks for an order when its outermost query does", () => {
    const asks = (query: string) => asksForOrder(readingStatement(query, "sqlite"));
    expect(asks("SELECT a FROM t ORDER BY a")).toBe(true);
    expect(asks("select a from t order\n/* */ by 1 desc limit 1")).toBe(true);
    expect(asks("SELECT a FROM (SELECT a FROM t ORDER BY a)")).toBe(false);
    expect(asks("SELECT row_number() OVER (ORDER BY a) FROM t")).toBe(false);
    expect(asks('SELECT \'order by\', "order" , "by" FROM t')).toBe(false);
  });
});
