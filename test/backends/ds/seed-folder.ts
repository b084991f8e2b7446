import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { onTestFinished } from "vitest";

/** A folder with files, gone after the test; its parent holds nothing else. */
export function makeSeeds(files: Readonly<Record<string, string | Buffer>>): string {
  const parent = realpathSync(mkdtempSync(join(tmpdir(), "toolyard-ds-test-")));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  const folder = join(parent, "seed");
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** Writes what a query gives as a Parquet file. */
export async function makeParquet(path: string, query: string): Promise<void> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  await connection.run(`COPY (${query}) TO '${path}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
}

export const SALES = "month,region,sales\n1,north,120\n2,south,135.5\n3,,160\n3,,160\n";
