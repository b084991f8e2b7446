import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import RagBackend from "../../../src/backends/rag/backend.ts";
import { Embedder, EmbeddingsConfig } from "../../../src/backends/rag/dense/embedder.ts";
import { Gate } from "../../kit/gate.ts";
import { testServer } from "../../kit/test-server.ts";

const MEANINGS = [/copper|red metal/i, /zinc|galvani/i, /./];

/** A double of an embeddings endpoint, which records and checks what it is sent: texts that mean the same get the same vector. */
async function openEndpoint() {
  const batches: string[][] = [];
  const held: { gate: Gate | undefined; status: number } = { gate: undefined, status: 200 };
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += String(part);
    const body: { model: string; input: string[]; encoding_format: string } = JSON.parse(text);
    expect([request.method, request.url]).toEqual(["POST", "/v1/embeddings"]);
    expect(request.headers.authorization).toBe("Bearer secret");
    expect(body).toMatchObject({ model: "meaning-1", encoding_format: "float" });
    batches.push(body.input);
    await held.gate?.passed;
    const data = body.input.map((input, index) => ({
      index,
      embedding: MEANINGS.map((one) => (one.test(input) ? 2 : 0)),
    }));
    response.writeHead(held.status, { "content-type": "application/json" });
    response.end(JSON.stringify({ object: "list", data: data.toReversed() }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  // A listening server of this kind has an address with a port.
  const { port } = server.address() as AddressInfo;
  return { batches, held, config: { url: `http://127.0.0.1:${port}/v1`, model: "meaning-1", api_key: "secret" } };
}

it("finds by meaning what shares no word, embeds each text once, and says when the endpoint fails", async () => {
  const endpoint = await openEndpoint();
  await using server = await testServer({ backends: [new RagBackend({ config: { embeddings: endpoint.config } })] });
  const documents = [
    { id: "cu", text: "Copper conducts." },
    { id: "zn", text: "Zinc protects." },
  ];
  await server.execute("rag:index", { documents });
  await server.execute("rag:index", { documents: [...documents, { id: "zn2", text: "Galvanised steel." }] });
  expect(endpoint.batches.flat()).toEqual(["Copper conducts.", "Zinc protects.", "Galvanised steel."]);
  const search = (retrievers: string[]) => server.execute("rag:search", { query: "red metal", retrievers, top_k: 1 });
  expect((await search(["bm25"])).body.data.results).toEqual([]);
  expect((await search(["dense", "bm25"])).body.data).toMatchObject({
    results: [{ document_id: "cu", retrievers: { dense: { rank: 1, score: expect.closeTo(1, 5) } } }],
  });
  expect((await server.execute("rag:stats")).body.data.batcher).toMatchObject({ texts: 4 });
  endpoint.held.status = 503;
  expect((await search(["dense"])).body.meta).toMatchObject({ error: "upstream_failed", outcome: "infra_error" });
  expect((await search(["bm25"])).status).toBe(200);
});

it("refuses the dense ranking where no endpoint is configured", async () => {
  await using server = await testServer({ backends: [new RagBackend({ config: {} })] });
  const { body } = await server.execute("rag:search", { query: "x", retrievers: ["dense"] });
  expect(body.meta?.error).toBe("invalid_input");
});

it("sends the first query at once, and those that come meanwhile together", async () => {
  const endpoint = await openEndpoint();
  const embedder = new Embedder(EmbeddingsConfig.parse(endpoint.config));
  endpoint.held.gate = new Gate();
  const first = [embedder.embed(["a"])];
  await Promise.resolve();
  first.push(embedder.embed(["b"]));
  await Promise.resolve();
  const later = Array.from({ length: 20 }, (_, index) => embedder.embed([`q${index}`]));
  await Promise.resolve();
  expect(embedder.counts).toMatchObject({ requests: 2, running: 2, waiting: 20 });
  endpoint.held.gate.open();
  await Promise.all([...first, ...later]);
  expect(endpoint.batches.map(({ length }) => length).toSorted((left, right) => left - right)).toEqual([1, 1, 20]);
});
