// Questions in SQL: the schema, a query, its plan, and the score of a prediction. Nothing but npm is needed.
// Run it with `npx node examples/sql.ts`.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { formatToolResult, Sandbox, ToolyardError } from "toolyard";

const folder = await mkdtemp(join(tmpdir(), "toolyard-example-"));
const database = new Database(join(folder, "shop.sqlite"));
database.exec(`
  CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
  CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers, total REAL);
  INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bob');
  INSERT INTO orders VALUES (10, 1, 2.5), (11, 1, 4), (12, 2, 1)`);
database.close();
const config = join(folder, "config.json");
await writeFile(config, JSON.stringify({ resources: { text2sql: { config: { folders: [folder] } } } }));

{
  await using sandbox = await Sandbox.open({ configPath: config });
  const { databases } = await sandbox.execute("text2sql:list_databases");
  console.log("databases:", databases);
  console.log(formatToolResult(await sandbox.call("text2sql:get_schema", { db_id: "shop" })));

  const query = "SELECT name, sum(total) AS total FROM customers JOIN orders ON customer = customers.id GROUP BY name";
  console.log(formatToolResult(await sandbox.call("text2sql:execute", { db_id: "shop", query })));
  const { plan } = await sandbox.execute("text2sql:explain", { db_id: "shop", query });
  console.log(plan);

  const predicted = "SELECT c.name, total(o.total) FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.id";
  const scored = await sandbox.execute("text2sql:score", { db_id: "shop", predicted, gold: query });
  console.log("correct:", scored.correct);
  if (!scored.correct) throw new Error("the prediction gives the same rows");

  try {
    await sandbox.execute("text2sql:execute", { db_id: "shop", query: "DELETE FROM orders" });
    throw new Error("it deleted");
  } catch (error) {
    if (!ToolyardError.is(error)) throw error;
    console.log("refused:", error.message);
  }
}
await rm(folder, { recursive: true, force: true });
