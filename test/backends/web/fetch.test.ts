import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { testServer } from "../../kit/test-server.ts";
import { type Answer, openDouble, openWeb } from "./web-doubles.ts";

async function openFetcher(answer: Answer, http: object = {}) {
  const double = await openDouble(answer);
  const config = { http: { private_hosts: [double.host], robots: "ignore", retry_delay_ms: 1, ...http } };
  const server = await testServer({ backends: [openWeb({ config })] });
  const send = async (params: object) => (await server.execute("web:fetch", params)).body;
  return { double, send, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe("web:fetch", () => {
  it("gives the answer as it is: status, headers, content", async () => {
    await using fetcher = await openFetcher((_request, response) => {
      response.writeHead(404, {
        "content-type": "application/json",
        "x-request-id": "7",
        "set-cookie": ["a=1", "b=2"],
      });
      response.end('{"error":"not here"}');
    });
    const { data, code } = await fetcher.send({ url: `${fetcher.double.url}/x?y=1#z`, headers: { "X-Mine": "yes" } });
    expect(code).toBe(0);
    expect(data).toMatchObject({
      url: `${fetcher.double.url}/x?y=1`,
      status: 404,
      ok: false,
      headers: { "x-request-id": "7", "set-cookie": "a=1, b=2" },
      content_type: "application/json",
      text: '{"error":"not here"}',
      base64: null,
      size_bytes: 20,
      truncated: false,
      redirects: [],
    });
    expect(fetcher.double.requests).toHaveLength(1);
    expect(fetcher.double.requests[0]).toMatchObject({
      method: "GET",
      query: { y: "1" },
      headers: { "x-mine": "yes", host: fetcher.double.host, connection: "close" },
    });
  });

  it("unpacks what is packed, and gives bytes that are no text as base64", async () => {
    const bytes = Buffer.from([0, 255, 254, 1]);
    const pack = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
    await using fetcher = await openFetcher(({ path }, response) => {
      const encoding = path.slice(1) as keyof typeof pack;
      response.writeHead(200, { "content-encoding": encoding }).end(pack[encoding]?.(bytes) ?? bytes);
    });
    for (const encoding of Object.keys(pack)) {
      // oxlint-disable-next-line no-await-in-loop
      const { data } = await fetcher.send({ url: `${fetcher.double.url}/${encoding}` });
      expect(data).toMatchObject({ text: null, base64: bytes.toString("base64"), size_bytes: 4 });
    }
    const { meta } = await fetcher.send({ url: `${fetcher.double.url}/compress` });
    expect(meta).toMatchObject({ error: "upstream_unreadable" });
  });

  it("says that a packed answer is broken, and takes one that was cut off", async () => {
    const whole = gzipSync("copper ".repeat(10_000));
    await using fetcher = await openFetcher(({ path }, response) => {
      response.writeHead(200, { "content-encoding": "gzip", "content-type": "text/plain" });
      response.end(path === "/cut" ? whole.subarray(0, whole.length - 8) : "no gzip at all");
    });
    expect((await fetcher.send({ url: `${fetcher.double.url}/cut` })).data.text).toMatch(/^copper copper/);
    expect((await fetcher.send({ url: `${fetcher.double.url}/none` })).meta?.error).toBe("upstream_unreadable");
  });

  it("leaves out what is beyond max_bytes, and what unpacks to nothing for ever", async () => {
    const nothing = gzipSync("");
    await using fetcher = await openFetcher(
      ({ path }, response) => {
        if (path === "/long") {
          response.writeHead(200, { "content-type": "text/plain" }).end("0123456789");
          return;
        }
        // One gzip member after another, each of which holds nothing.
        response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" });
        const block = Buffer.concat(Array.from({ length: 1_000 }, () => nothing));
        const more = () => response.write(block, () => !response.destroyed && setImmediate(more));
        more();
      },
      { max_mib: 1 },
    );
    const { data } = await fetcher.send({ url: `${fetcher.double.url}/long`, max_bytes: 4 });
    expect(data).toMatchObject({ text: "0123", size_bytes: 4, truncated: true });
    expect((await fetcher.send({ url: `${fetcher.double.url}/nothing` })).data).toMatchObject({
      text: "",
      truncated: true,
    });
    await expect.poll(() => fetcher.double.brokenOff()).toBeGreaterThan(0);
  });

  it("sends only the methods that the config allows, and repeats none that may have had an effect", async () => {
    await using strict = await openFetcher(() => ({}));
    const refused = await strict.send({ url: strict.double.url, method: "POST", body: "{}" });
    expect(refused.meta).toMatchObject({ error: "invalid_input", outcome: "rejected" });
    expect(strict.double.requests).toEqual([]);
    await using fetcher = await openFetcher((_request, response) => void response.writeHead(503).end("busy"), {
      methods: ["GET", "POST"],
    });
    const { data } = await fetcher.send({
      url: fetcher.double.url,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"metal":"copper"}',
    });
    expect(data).toMatchObject({ status: 503, text: "busy" });
    expect(fetcher.double.requests).toHaveLength(1);
    expect(fetcher.double.requests[0]).toMatchObject({ method: "POST", body: { metal: "copper" } });
    const { data: got } = await fetcher.send({ url: fetcher.double.url });
    expect([got.status, fetcher.double.requests.length]).toEqual([503, 3]);
  });

  it("tells another host nothing of what one was told, and turns a POST that is redirected into a GET", async () => {
    const other = await openDouble(() => ({ here: true }));
    await using fetcher = await openFetcher(
      ({ path }, response) => {
        const location = path === "/same" ? "/end" : `${other.url}/end`;
        if (path === "/end") response.writeHead(200).end("{}");
        else response.writeHead(302, { location }).end();
      },
      { methods: ["GET", "POST"], private_hosts: [] },
    );
    const config = {
      http: { private_hosts: [fetcher.double.host, other.host], robots: "ignore", methods: ["GET", "POST"] },
    };
    await using server = await testServer({ backends: [openWeb({ config })] });
    const headers = { authorization: "Bearer s3cret", cookie: "a=1", "content-type": "text/plain" };
    const params = { url: `${fetcher.double.url}/same`, method: "POST", headers, body: "x" };
    const { body } = await server.execute("web:fetch", params);
    expect(body.data.redirects).toEqual([{ status: 302, url: `${fetcher.double.url}/same` }]);
    expect(fetcher.double.requests[1]).toMatchObject({ method: "GET", path: "/end", body: null });
    expect(fetcher.double.requests[1]?.headers).toMatchObject({ authorization: "Bearer s3cret", cookie: "a=1" });
    await server.execute("web:fetch", { ...params, url: `${fetcher.double.url}/other` });
    expect(other.requests).toHaveLength(1);
    expect(other.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(other.requests[0]?.headers).not.toHaveProperty("cookie");
  });

  it.each([
    [{ Host: "127.0.0.1" }, "invalid_input"],
    [{ "Content-Length": "0" }, "invalid_input"],
    [{ "Transfer-Encoding": "chunked" }, "invalid_input"],
    [{ "Proxy-Authorization": "x" }, "invalid_input"],
    [{ "a\r\nb": "x" }, "invalid_input"],
    [{ a: "x\r\nhost: evil" }, "invalid_input"],
    [{ a: "naïve" }, "invalid_input"],
  ])("D08 refuses the headers %j", async (headers, error) => {
    await using fetcher = await openFetcher(() => ({}));
    const { meta } = await fetcher.send({ url: fetcher.double.url, headers });
    expect(meta).toMatchObject({ error, outcome: "rejected" });
    expect(fetcher.double.requests).toEqual([]);
  });

  it("says what it is when the other side breaks off, speaks no HTTP, or would become something else", async () => {
    await using fetcher = await openFetcher(({ path }, response) => {
      if (path === "/upgrade") response.socket?.end("HTTP/1.1 101 Go\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
      else if (path === "/noise") response.socket?.end("220 mail.example.org ESMTP\r\n");
      else response.socket?.destroy();
    });
    const error = async (path: string) => (await fetcher.send({ url: fetcher.double.url + path })).meta;
    expect(await error("/off")).toMatchObject({ error: "upstream_failed", outcome: "infra_error", retryable: true });
    expect(await error("/noise")).toMatchObject({ error: "upstream_unreadable" });
    expect(await error("/upgrade")).toMatchObject({ error: "upstream_unreadable" });
    // Only what broke off was tried again.
    expect(fetcher.double.requests.map(({ path }) => path)).toEqual(["/off", "/off", "/noise", "/upgrade"]);
  });

  it("takes no part for the whole when the time ends in the middle of an answer", async () => {
    await using fetcher = await openFetcher(
      // Without a length and without chunks: the end of the connection is the end of the answer.
      (_request, response) => void response.socket?.write("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nsome"),
      { timeout_ms: 500, retries: 0 },
    );
    const { data, meta } = await fetcher.send({ url: fetcher.double.url });
    expect({ data, meta }).toMatchObject({ data: { limit: "timeout_ms" }, meta: { error: "limit_exceeded" } });
  });
});
