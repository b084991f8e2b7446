import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import RagBackend from "../../../src/backends/rag/backend.ts";
import { testServer } from "../../kit/test-server.ts";

interface Asked {
  readonly model: string;
  readonly query: string;
  readonly documents: readonly string[];
  readonly top_n: number;
}

/** A double of a rerank endpoint, which records and checks what it is sent: the shorter a text, the better it answers. */
async function openEndpoint() {
  const asked: Asked[] = [];
  const answer = { status: 200, leaveOut: 0 };
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += String(part);
    expect([request.method, request.url]).toEqual(["POST", "/v1/rerank"]);
    expect(request.headers.authorization).toBe("Bearer secret");
    const body: Asked = JSON.parse(text);
    asked.push(body);
    const results = body.documents.map(({ length }, index) => ({ index, relevance_score: 1 / length }));
    results.sort((left, right) => right.relevance_score - left.relevance_score);
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify({ model: body.model, results: results.slice(answer.leaveOut) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  // A listening server of this kind has an address with a port.
  const { port } = server.address() as AddressInfo;
  const rerank = { url: `http://127.0.0.1:${port}/v1/`, model: "reader-1", api_key: "secret", candidates: 3 };
  return { asked, answer, config: { rerank, retrievers: ["bm25"] } };
}

const documents = [
  { id: "long", text: "Copper copper copper conducts electricity better than most metals that are as cheap." },
  { id: "middle", text: "Copper copper conducts electricity well." },
  { id: "short", text: "Copper and a lot of other things." },
  { id: "unread", text: `Copper once. ${"Nothing of it here. ".repeat(20)}` },
];

it("reads the best again with the query, and says so", async () => {
  const endpoint = await openEndpoint();
  await using server = await testServer({ backends: [new RagBackend({ config: endpoint.config })] });
  await server.execute("rag:index", { documents });
  const plain = await server.execute("rag:search", { query: "copper electricity", rerank: false, top_k: 4 });
  const order = plain.body.data.results.map((hit: { document_id: string }) => hit.document_id);
  expect(endpoint.asked).toEqual([]);
  expect(plain.body.data.reranked).toBeUndefined();
  const { data } = (await server.execute("rag:search", { query: "copper electricity", top_k: 4 })).body;
  expect(endpoint.asked).toMatchObject([{ model: "reader-1", query: "copper electricity", top_n: 3 }]);
  expect(data.reranked).toBe(true);
  const best = order.slice(0, 3).toSorted((left: string, right: string) => lengthOf(left) - lengthOf(right));
  expect(data.results.map((hit: { document_id: string }) => hit.document_id)).toEqual([...best, order[3]]);
  expect(data.results.map((hit: { rank: number }) => hit.rank)).toEqual([1, 2, 3, 4]);
  // More candidates are read than are answered.
  const one = await server.execute("rag:batch_search", { queries: ["copper electricity", "copper"], top_k: 1 });
  expect(one.body.data.results.map((hits: { document_id: string }[]) => hits.map((hit) => hit.document_id))).toEqual([
    [best[0]],
    [expect.any(String)],
  ]);
  expect(endpoint.asked).toHaveLength(3);
});

it("fails where the endpoint does, or does not score every text", async () => {
  const endpoint = await openEndpoint();
  await using server = await testServer({ backends: [new RagBackend({ config: endpoint.config })] });
  await server.execute("rag:index", { documents });
  endpoint.answer.leaveOut = 1;
  const partial = await server.execute("rag:search", { query: "copper" });
  expect(partial.body.meta).toMatchObject({ error: "upstream_unreadable", outcome: "infra_error" });
  endpoint.answer.status = 500;
  const failed = await server.execute("rag:search", { query: "copper" });
  expect(failed.body.meta).toMatchObject({ error: "upstream_failed", outcome: "infra_error" });
  expect((await server.execute("rag:search", { query: "copper", rerank: false })).status).toBe(200);
  // There is nothing to read.
  expect((await server.execute("rag:search", { query: "zzz" })).body.data.results).toEqual([]);
});

it("is refused where the config names no endpoint", async () => {
  await using server = await testServer({ backends: [new RagBackend({ config: {} })] });
  const { body } = await server.execute("rag:search", { query: "x", rerank: true });
  expect(body.meta?.error).toBe("invalid_input");
});

function lengthOf(id: string): number {
  return documents.find((document) => document.id === id)?.text.length ?? 0;
}
