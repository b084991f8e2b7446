// Indexes documents, searches them, reads what was found, and deletes. No model and no key is
// needed. Run it with `npx node examples/search.ts`.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "toolyard";

const folder = await mkdtemp(join(tmpdir(), "toolyard-search-"));
const configPath = join(folder, "config.json");
await writeFile(configPath, JSON.stringify({ resources: { rag: { backend: "rag" } }, store: { driver: "memory" } }));

const GUIDE = "# Metals\n\n## Copper\nCopper conducts electricity well.\n\n## Zinc\nZinc protects steel from rust.\n";
const PAGE = "<title>Woods</title><h1>Oak</h1><p>Oak is a hard wood, and burns slowly.</p>";

try {
  await using sandbox = await Sandbox.open({ configPath });
  const documents = [
    { id: "guide", text: GUIDE, media_type: "text/markdown", metadata: { kind: "guide" } },
    { id: "woods", text: PAGE, media_type: "text/html", metadata: { kind: "page" } },
  ];
  const { added, generation } = await sandbox.execute("rag:index", { documents });
  console.log(`indexed ${added} documents, generation ${generation}`);
  const again = await sandbox.execute("rag:index", { documents });
  console.log(`again: ${again.unchanged} unchanged`);

  const found = await sandbox.execute("rag:search", { query: "what conducts?", top_k: 3 });
  for (const { rank, score, document_id: id, heading, start, end, retrievers } of found.results) {
    const ranks = Object.entries(retrievers).map(([name, place]) => `${name} ${place.rank}`);
    console.log(
      `${rank}. ${id} ${start}-${end} (${heading}), score ${score.toFixed(2)}, ranked by ${ranks.join(", ")}`,
    );
  }
  const [best] = found.results;
  if (best?.document_id !== "guide") throw new Error("the guide speaks of copper");
  const { text } = await sandbox.execute("rag:get", { id: best.document_id, start: best.start, end: best.end });
  console.log(text.trim());

  const { contexts } = await sandbox.execute("rag:batch_search", {
    queries: ["rust", "wood"],
    filter: { kind: "page" },
  });
  console.log("pages only:", contexts);
  console.log((await sandbox.execute("rag:list", { prefix: "w" })).documents.map(({ id, title }) => `${id}: ${title}`));
  console.log((await sandbox.execute("rag:delete", { ids: ["woods", "none"] })).missing);
  const [own] = (await sandbox.execute("rag:collections")).collections;
  const { index } = await sandbox.execute("rag:stats");
  console.log(`${own?.name}: ${own?.own?.documents} document, ${index.chunks} chunks in all`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
