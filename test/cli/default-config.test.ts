import { readFile } from "node:fs/promises";
import { expect, it, onTestFinished } from "vitest";
import { startCli } from "./cli-process.ts";

// Whoever runs the tests may have keys.
const keys = { SERPER_API_KEY: "", TAVILY_API_KEY: "", BRAVE_API_KEY: "", SEARXNG_URL: "" };
const env = { ...keys, TOOLYARD_SEEDS: "", TOOLYARD_DATABASES: "" };

it("serves without a config what the README lists, and what lacks a key says so alone", async () => {
  const server = startCli(["serve", "--port", "0", "--ephemeral"], { env });
  onTestFinished(async () => {
    server.child.kill("SIGKILL");
    await server.ended;
  });
  const [, url = ""] = await server.line(/listens on (http:\/\/[^ ]+)/);
  const call = async (action: string, params: object) => {
    const body = JSON.stringify({ worker_id: "w1", action, params });
    return (await fetch(`${url}/execute`, { method: "POST", body })).json();
  };
  const listed = JSON.stringify(await (await fetch(`${url}/api/v1/tools`)).json());
  const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
  const table = readme.split("\n").filter((line) => /^\|.*\|.*\|.*\|$/.test(line) && /`[a-z0-9]+:[a-z_*]+`/.test(line));
  const named = table.flatMap((line) => [...line.matchAll(/`([a-z0-9]+:[a-z_]+)`/g)].map(([, name]) => name));
  expect(named.length).toBeGreaterThan(15);
  for (const name of named) expect(listed).toContain(`"${name}"`);

  expect(await call("rag:index", { documents: [{ id: "cu", text: "Copper conducts." }] })).toMatchObject({
    data: { added: 1 },
  });
  expect(await call("rag:search", { query: "copper" })).toMatchObject({ data: { results: [{ document_id: "cu" }] } });
  expect(await call("doc:ingest", { id: "cu", text: "# Copper\nIt conducts." })).toMatchObject({
    data: { sections: 1 },
  });
  expect(await call("web:fetch", { url: "http://127.0.0.1:1/" })).toMatchObject({ meta: { error: "address_refused" } });
  expect(await call("web:search", { query: "copper" })).toMatchObject({ meta: { error: "api_key_missing" } });
  expect(await call("text2sql:list_databases", {})).toMatchObject({
    data: { databases: [], note: expect.any(String) },
  });
  // Of a sandbox that is empty; where the only runtime has no files it says so.
  expect(JSON.stringify(await call("ds:inspect_data", {}))).toMatch(/"files":\[\]|"error":"runtime_unavailable"/);
});
