// Files of data: what is in them, SQL over them, python on them in a sandbox. Run it with `npx node examples/data-files.ts`.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox, ToolyardError } from "toolyard";

const folder = await mkdtemp(join(tmpdir(), "toolyard-example-"));
await writeFile(join(folder, "sales.csv"), "month,region,sales\n1,north,120\n2,south,135.5\n3,,160\n");
await writeFile(join(folder, "regions.csv"), "region,manager\nnorth,Ada\nsouth,Bob\n");
const config = join(folder, "config.json");
await writeFile(config, JSON.stringify({ resources: { code: {}, ds: { config: { folders: [folder] } } } }));

{
  await using sandbox = await Sandbox.open({ configPath: config });
  const { result } = await sandbox.execute("ds:inspect_data");
  console.log(result);
  console.log((await sandbox.execute("ds:read_csv", { csv_file: "sales.csv", max_rows: 2 })).result);

  const query = "SELECT manager, sum(sales) AS sales FROM sales JOIN regions USING (region) GROUP BY ALL ORDER BY ALL";
  const { rows } = await sandbox.execute("ds:query", { query });
  console.log("by manager:", rows);
  if (rows.length !== 2) throw new Error("there are two managers");

  try {
    const code = `
import csv
total = sum(float(row["sales"]) for row in csv.DictReader(open("sales.csv")))
print("rows and columns are beside the code")`;
    console.log((await sandbox.execute("ds:run_python", { code, return_vars: ["total"] })).result);
  } catch (error) {
    if (!ToolyardError.is(error)) throw error;
    console.log(`no python here: ${error.message}`);
  }
}
await rm(folder, { recursive: true, force: true });
