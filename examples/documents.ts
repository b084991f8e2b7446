// Takes two documents in, finds a section by words, and reads it. Run it with `npx node examples/documents.ts`.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "toolyard";

const GUIDE =
  "# Metals\n\n## Copper\nCopper conducts best.\n\n| metal | S/m |\n| --- | --- |\n| copper | 5.96e7 |\n\n## Zinc\nZinc protects steel from rust.\n";
const PAGE = "<title>Woods</title><h1>Woods</h1><p>Woods burn.</p><h2>Oak</h2><p>Oak is hard.</p>";

const folder = await mkdtemp(join(tmpdir(), "toolyard-doc-"));
const configPath = join(folder, "config.json");
const config = { resources: { doc: { backend: "doc" } }, store: { driver: "memory" } };
await writeFile(configPath, JSON.stringify(config));
try {
  await using sandbox = await Sandbox.open({ configPath });
  const guide = await sandbox.execute("doc:ingest", { id: "guide", text: GUIDE });
  console.log(guide.outline.map(({ section_id: id, title }) => `${id} ${title}`).join("\n"));
  await sandbox.execute("doc:ingest", { id: "woods", text: PAGE, media_type: "text/html" });
  const found = await sandbox.execute("doc:search", { key_words: ["rusting", "steel"] });
  console.log(found.result);
  const [best] = found.results;
  if (best === undefined) throw new Error("nothing was found");
  const read = await sandbox.execute("doc:read", { section_ids: [best.section_id, "guide#1.1"] });
  console.log(`${read.result}\n-- ${read.sections.flatMap(({ tables }) => tables).length} table`);
  const { documents } = await sandbox.execute("doc:list");
  console.log(documents.map(({ document, sections }) => `${document}: ${sections} sections`).join(", "));
  console.log(await sandbox.execute("doc:delete", { document: ["guide", "woods"] }));
} finally {
  await rm(folder, { recursive: true, force: true });
}
