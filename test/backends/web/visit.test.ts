import { gzipSync } from "node:zlib";
import { existsSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Backend } from "../../../src/core/backend.ts";
import { type Input, tool } from "../../../src/core/tool.ts";
import { z } from "zod";
import { DOCX, makePdf, XLSX } from "../../kit/office-files.ts";
import { ManualClock } from "../../kit/manual-clock.ts";
import { testServer } from "../../kit/test-server.ts";
import { zipArchive } from "../../kit/zip-archive.ts";
import { openDouble, openSite, openWeb } from "./web-doubles.ts";

const PARAGRAPH = "Copper is a metal that conducts electricity and heat better than almost any other. ".repeat(8);
const ARTICLE = `<!doctype html><html lang="en"><head><title>Copper &amp; you</title>
  <meta property="og:site_name" content="Metals"><meta name="author" content="A. Smith"></head><body>
  <nav><a href="/home">Home</a><a href="/about">About</a></nav>
  <article><h1>Copper &amp; you</h1><p>${PARAGRAPH}</p><p>See <a href="../zinc?x=1#top">zinc</a>. ${PARAGRAPH}</p>
  <table><thead><tr><th>metal</th><th>S/m</th></tr></thead><tbody><tr><td>copper</td><td>5.96e7</td></tr>
  <tr><td>a|b</td><td>1</td></tr></tbody></table><p>${PARAGRAPH}</p><script>document.title = "evil"</script></article>
  <footer>Imprint and nothing else</footer></body></html>`;

const send =
  (type: string, body: string | Buffer, headers: Record<string, string> = {}, status = 200) =>
  (response: ServerResponse) =>
    void response.writeHead(status, { "content-type": type, ...headers }).end(body);

async function openReader(
  pages: Parameters<typeof openSite>[0],
  more: Record<string, unknown> = {},
  clock?: ManualClock,
) {
  const site = await openSite(pages);
  const { http = {}, ...rest } = more;
  const config = { http: { private_hosts: [site.host], retry_delay_ms: 1, ...(http as object) }, ...rest };
  const server = await testServer({ backends: [openWeb({ config, ...(clock && { clock }) })] });
  const visit = async (params: object) => (await server.execute("web:visit", params)).body;
  return { site, server, visit, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe("web:visit", () => {
  it("C04 reads a page that holds its reader apart: others are answered meanwhile, and its own call's time ends it", async () => {
    const pages = { "/endless": send("text/html", "<".repeat(4_000_000)), "/": send("text/html", "<p>short</p>") };
    await using web = await openReader(pages);
    const order: string[] = [];
    const endless = web.server
      .post("/execute", {
        ...{ worker_id: "other", action: "web:visit", timeout_ms: 5_000 },
        params: { urls: `${web.site.url}/endless` },
      })
      .then(({ body }) => (order.push("endless"), body));
    await expect.poll(() => web.site.requests.some(({ path }) => path === "/endless")).toBe(true);
    const short = await web.visit({ urls: `${web.site.url}/` });
    order.push("short");
    expect(short.data.pages[0].text).toBe("short");
    expect((await endless).meta).toMatchObject({ outcome: "limit", error: "timeout" });
    expect(order).toEqual(["short", "endless"]);
  });

  it("gives the article of a page as Markdown, and asks nobody but the page's own host", async () => {
    await using reader = await openReader({ "/a/copper": ARTICLE });
    const { data } = await reader.visit({ urls: `${reader.site.url}/a/copper#part`, links: true });
    const [page] = data.pages;
    expect(page).toMatchObject({
      url: `${reader.site.url}/a/copper`,
      status: 200,
      title: "Copper & you",
      site: "Metals",
      language: "en",
      content_type: "text/html",
      next_start: null,
      extraction: null,
    });
    expect(page.text).toContain("conducts electricity");
    expect(page.text).toContain(`[zinc](${reader.site.url}/zinc?x=1#top)`);
    expect(page.text).toContain("| metal | S/m |\n| --- | --- |\n| copper | 5.96e7 |\n| a\\|b | 1 |");
    expect(page.text).not.toMatch(/evil|Imprint|About/);
    expect(page.links.map(({ text }: { text: string }) => text)).toEqual(["Home", "About", "zinc"]);
    expect(data.result).toMatch(/^# Copper & you\nURL: http/);
    expect(data.inputs).toEqual({ urls: `${reader.site.url}/a/copper#part`, goal: null });
    expect(reader.site.requests.map(({ path, headers }) => [path, headers.host, headers["user-agent"]])).toEqual([
      ["/robots.txt", reader.site.host, "Mozilla/5.0 (compatible; Toolyard/0.1)"],
      ["/a/copper", reader.site.host, "Mozilla/5.0 (compatible; Toolyard/0.1)"],
    ]);
  });

  it("gives the whole page when asked to", async () => {
    await using reader = await openReader({ "/": ARTICLE });
    const { data } = await reader.visit({ urls: reader.site.url, full_page: true });
    expect(data.result).toMatch(/Imprint/);
    expect(data.result).not.toMatch(/evil/);
  });

  it("reads PDF, DOCX, XLSX, JSON and text, by their type or their first bytes", async () => {
    const office = "application/vnd.openxmlformats-officedocument";
    await using reader = await openReader({
      "/a.pdf": send("application/pdf", makePdf(["Copper conducts", "Zinc protects"])),
      "/b": send("application/octet-stream", makePdf(["Tin melts"])),
      "/c": send(`${office}.wordprocessingml.document`, zipArchive(DOCX)),
      "/d.xlsx": send("application/octet-stream", zipArchive(XLSX)),
      "/e": send("application/ld+json", '{"metal":"copper"}'),
      "/f": send("text/plain; charset=iso-8859-1", Buffer.from("na\xefve", "latin1")),
      "/g": send("text/html", Buffer.from(`<meta charset="windows-1251"><p>${"\xcc\xe5\xe4\xfc "}</p>`, "latin1")),
    });
    const urls = ["a.pdf", "b", "c", "d.xlsx", "e", "f", "g"].map((name) => `${reader.site.url}/${name}`);
    const { data } = await reader.visit({ urls });
    expect(data.pages.map(({ text }: { text: string }) => text)).toEqual([
      expect.stringMatching(/Copper conducts[^]*Zinc protects/),
      "Tin melts",
      "# Metals\n\nCopper conducts.",
      "metal: copper | tons: 7",
      '{"metal":"copper"}',
      "naïve",
      "Медь",
    ]);
    expect(data.warning).toBeUndefined();
  });

  it("says of what it cannot read what it is, and that web:fetch can get it", async () => {
    await using reader = await openReader({
      "/i.png": send("image/png", Buffer.from("\x89PNG\0", "latin1")),
      "/x": send("text/plain", Buffer.from("\0\0binary")),
      "/broken.pdf": send("application/pdf", "no pdf"),
    });
    for (const name of ["i.png", "x", "broken.pdf"]) {
      // oxlint-disable-next-line no-await-in-loop
      const { meta } = await reader.visit({ urls: `${reader.site.url}/${name}` });
      expect(meta).toMatchObject({ error: "business_failure", outcome: "tool_error" });
      expect(meta?.suggestion).toContain("web:fetch");
    }
  });

  it("gives long texts in stretches, and fetches them once", async () => {
    const words = Array.from({ length: 2_000 }, (_, index) => `word${index}😀`).join(" ");
    await using reader = await openReader({ "/": send("text/plain; charset=utf-8", words) });
    let text = "";
    for (let start: number | null = 0, turns = 0; start !== null; turns += 1) {
      expect(turns).toBeLessThan(100);
      // oxlint-disable-next-line no-await-in-loop
      const { data } = await reader.visit({ urls: reader.site.url, start, max_characters: 1_000 });
      const [page] = data.pages;
      expect(page.text.length).toBeLessThanOrEqual(1_000);
      expect(page.text.isWellFormed()).toBe(true);
      expect(page.cached).toBe(turns > 0);
      text += page.text;
      start = page.next_start;
      if (start !== null) expect(data.warning).toContain(`start=${start}`);
    }
    expect(text).toBe(words);
    expect(reader.site.requests.filter(({ path }) => path === "/")).toHaveLength(1);
  });

  it("reads several pages, each failing alone, and says what failed", async () => {
    await using reader = await openReader({ "/": ARTICLE });
    const urls = [reader.site.url, "http://10.0.0.1/", `${reader.site.url}/missing`];
    const { data } = await reader.visit({ urls });
    expect(
      data.pages.map(({ status, error }: { status: number; error?: { name: string } }) => [status, error?.name]),
    ).toEqual([
      [200, undefined],
      [null, "address_refused"],
      [404, undefined],
    ]);
    expect(data.warning).toMatch(/1 of 3 pages failed.*answered 404/);
    const { data: none } = await reader.visit({ urls: ["http://10.0.0.1/", "file:///x"] });
    expect(none.errors.map(({ name }: { name: string }) => name)).toEqual(["address_refused", "invalid_url"]);
    expect(data.result.split("\n=======\n")).toHaveLength(3);
  });

  it("survives pages that no browser would show", async () => {
    const deep = "<div>".repeat(100_000) + "copper" + "</div>".repeat(100_000);
    await using reader = await openReader({
      "/deep": deep,
      "/tables": "<table><tr><td>".repeat(400) + "copper",
      "/open": "<a <b <c <!-- copper",
      "/none": "",
      "/frames": "<html><frameset><frame src=x></frameset></html>",
      "/svg": "<svg><title>copper</title></svg>",
    });
    const urls = ["deep", "tables", "open", "none", "frames", "svg"].map((name) => `${reader.site.url}/${name}`);
    const { data } = await reader.visit({ urls });
    expect(data.pages.map(({ status }: { status: number }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(data.pages[0].text).toBe("copper");
    expect(data.pages[1].text).toContain("copper");
  });

  it("asks a browser when told to, and names what is missing where there is none", async () => {
    await using reader = await openReader({ "/": ARTICLE });
    const { meta, data } = await reader.visit({ urls: reader.site.url, browser: true });
    expect(meta).toMatchObject({ error: "dependency_failed", outcome: "infra_error", retryable: false });
    expect(data).toMatchObject({ missing: "browser:render" });
    expect(reader.site.requests.map(({ path }) => path)).toEqual(["/robots.txt"]);

    const Render = z.strictObject({ url: z.string() });
    class Browser extends Backend {
      readonly resource = "browser";
      @tool({ description: "A double of a browser's tool.", params: Render })
      render({ url }: Input<typeof Render>) {
        return { url, html: `<title>Shown</title><p>${url} after its scripts ran</p>` };
      }
    }
    const config = { http: { private_hosts: [reader.site.host] } };
    await using server = await testServer({ backends: [openWeb({ config }), new Browser({ config: {} })] });
    const { body } = await server.execute("web:visit", { urls: reader.site.url, browser: true });
    expect(body.data.pages[0]).toMatchObject({
      title: "Shown",
      text: expect.stringContaining("after its scripts ran"),
    });
  });
});

describe("web:visit leaves alone what robots.txt forbids", () => {
  const robots = "User-agent: *\nDisallow: /\n\nUser-agent: toolyard\nDisallow: /private\nAllow: /private/but-this\n";

  it("by our own name, on redirects too, and reads it once", async () => {
    await using reader = await openReader({
      "/robots.txt": send("text/plain", robots),
      "/open": ARTICLE,
      "/private/but-this": ARTICLE,
      "/private/x": ARTICLE,
      "/jump": (response) => void response.writeHead(302, { location: "/private/x" }).end(),
    });
    const { url } = reader.site;
    for (const path of ["/private/x", "/jump"]) {
      // oxlint-disable-next-line no-await-in-loop
      const { meta, data } = await reader.visit({ urls: url + path });
      expect(meta).toMatchObject({ error: "business_failure", outcome: "tool_error" });
      expect(data).toMatchObject({ reason: "robots" });
    }
    expect((await reader.visit({ urls: [`${url}/open`, `${url}/private/but-this`] })).data.warning).toBeUndefined();
    const paths = reader.site.requests.map(({ path }) => path);
    expect(paths.filter((path) => path === "/robots.txt")).toHaveLength(1);
    expect(paths).not.toContain("/private/x");
  });

  it("unless the config says to ignore it; a site whose robots.txt fails is left alone whole", async () => {
    const failing = { "/robots.txt": send("text/plain", "", {}, 500), "/": ARTICLE };
    await using ignoring = await openReader(failing, { http: { robots: "ignore" } });
    expect((await ignoring.visit({ urls: ignoring.site.url })).code).toBe(0);
    expect(ignoring.site.requests.map(({ path }) => path)).toEqual(["/"]);
    await using reader = await openReader(failing);
    expect((await reader.visit({ urls: reader.site.url })).data).toMatchObject({ reason: "robots" });
  });
});

describe("the limits of web:visit", () => {
  it("C04 stops at a bomb's limit, packed or not", async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, "a"));
    expect(bomb.length).toBeLessThan(128 * 1024);
    await using reader = await openReader(
      {
        "/html": send("text/html", bomb, { "content-encoding": "gzip" }),
        "/pdf": send("application/pdf", bomb, { "content-encoding": "gzip" }),
        "/endless": (response) => {
          response.writeHead(200, { "content-type": "text/plain" });
          const more = () => response.write("a".repeat(65_536), () => !response.destroyed && setImmediate(more));
          more();
        },
      },
      { http: { max_mib: 1 } },
    );
    const { url } = reader.site;
    const before = process.memoryUsage.rss();
    const { data } = await reader.visit({ urls: [`${url}/html`, `${url}/endless`], max_characters: 100 });
    expect(data.pages.map(({ characters }: { characters: number }) => characters)).toEqual([1_048_576, 1_048_576]);
    expect((await reader.visit({ urls: `${url}/pdf` })).data).toMatchObject({ limit: "max_mib", max: 1 });
    expect(process.memoryUsage.rss() - before).toBeLessThan(512 * 1024 * 1024);
    await expect.poll(() => reader.site.brokenOff()).toBeGreaterThanOrEqual(1);
  });

  it("C03 C04: reads office files in memory, writes nothing of them, and stops at those that unpack to more than is allowed", async () => {
    const slip = `toolyard-slip-${process.pid}`;
    const names = [`../../../../../../tmp/${slip}`, `/tmp/${slip}`, `..\\${slip}`];
    const evil = Object.fromEntries(names.map((name) => [name, "evil"]));
    const office = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    await using reader = await openReader({
      "/slip": send(office, zipArchive({ ...DOCX, ...evil })),
      "/bomb": send(office, zipArchive(DOCX, 300 * 1024 * 1024, true)),
      // It says that it unpacks to less than it does.
      "/liar": send(office, zipArchive({ ...DOCX, "word/media/x.xml": "0".repeat(4_000_000) }, 2_000, true)),
    });
    const { data } = await reader.visit({ urls: `${reader.site.url}/slip` });
    expect(data.pages[0].text).toBe("# Metals\n\nCopper conducts.");
    expect(existsSync(join("/tmp", slip))).toBe(false);
    expect(existsSync(slip)).toBe(false);
    expect((await reader.visit({ urls: `${reader.site.url}/bomb` })).meta).toMatchObject({ error: "limit_exceeded" });
    expect((await reader.visit({ urls: `${reader.site.url}/liar` })).meta?.outcome).toMatch(/^(limit|tool_error)$/);
  });

  it("ends after the time that the config gives, and with the call", async () => {
    const clock = new ManualClock();
    await using reader = await openReader({ "/slow": () => undefined }, { http: { robots: "ignore" } }, clock);
    const late = reader.visit({ urls: `${reader.site.url}/slow` });
    await expect.poll(() => reader.site.requests.length).toBe(1);
    await clock.advance(30_000);
    expect(await late).toMatchObject({ data: { limit: "timeout_ms", max: 30_000 }, meta: { outcome: "limit" } });
    await expect.poll(() => reader.site.brokenOff()).toBe(1);
    const caller = new AbortController();
    const gone = fetch(`${reader.server.url}/execute`, {
      method: "POST",
      body: JSON.stringify({ worker_id: "w1", action: "web:visit", params: { urls: `${reader.site.url}/slow` } }),
      signal: caller.signal,
    }).catch(() => "gone");
    await expect.poll(() => reader.site.requests.length).toBe(2);
    caller.abort();
    expect(await gone).toBe("gone");
    await expect.poll(() => reader.site.brokenOff()).toBe(2);
  });

  it("follows so many redirects and no more", async () => {
    const jump = (response: ServerResponse, { query }: { query: Readonly<Record<string, string>> }) => {
      const left = Number(query["n"]);
      if (left === 0) send("text/plain", "arrived")(response);
      else response.writeHead(302, { location: `/jump?n=${left - 1}` }).end();
    };
    await using reader = await openReader({ "/jump": jump });
    const { data } = await reader.visit({ urls: `${reader.site.url}/jump?n=5` });
    expect(data.pages[0]).toMatchObject({ text: "arrived", url: `${reader.site.url}/jump?n=0` });
    expect((await reader.visit({ urls: `${reader.site.url}/jump?n=6` })).data).toMatchObject({
      limit: "max_redirects",
      max: 5,
    });
  });

  it("tries a page again that is busy, within limits, and never one that is missing", async () => {
    let asked = 0;
    await using reader = await openReader({
      "/busy": (response) => send("text/plain", "there", {}, (asked += 1) === 1 ? 503 : 200)(response),
      "/always": send("text/plain", "busy", {}, 503),
    });
    const { url, requests } = reader.site;
    const { data } = await reader.visit({ urls: [`${url}/busy`, `${url}/always`, `${url}/missing`] });
    expect(data.pages.map(({ status }: { status: number }) => status)).toEqual([200, 503, 404]);
    const count = (path: string) => requests.filter((request) => request.path === path).length;
    expect([count("/busy"), count("/always"), count("/missing")]).toEqual([2, 2, 1]);
  });

  it("reads so many pages in one call and no more", async () => {
    await using reader = await openReader({}, { visit: { max_urls: 2 } });
    const { data, meta } = await reader.visit({ urls: [1, 2, 3].map((each) => `${reader.site.url}/${each}`) });
    expect([meta?.error, data]).toEqual(["limit_exceeded", { limit: "max_urls", max: 2 }]);
  });
});

describe("web:visit with a goal", () => {
  const said = JSON.stringify({ rational: "the table", evidence: "5.96e7 S/m", summary: "Copper conducts well." });

  /** A double of an OpenAI-compatible endpoint, asked by the real client library. */
  const openModel = (content: unknown, status = 200) =>
    openDouble((_request, response) => {
      response.writeHead(status, { "content-type": "application/json" });
      const message = { role: "assistant", content };
      const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
      response.end(
        JSON.stringify({
          id: "c1",
          object: "chat.completion",
          model: "reader-1",
          choices: [{ index: 0, message, finish_reason: "stop" }],
          usage,
        }),
      );
    });

  const toConfig = (url: string) => ({ model: { url: `${url}/v1`, model: "reader", api_key: "secret", retries: 0 } });

  it("has the model pick out what bears on it", async () => {
    const model = await openModel("Here it is:\n```json\n" + said + "\n```");
    await using reader = await openReader({ "/": ARTICLE }, toConfig(model.url));
    const { data } = await reader.visit({ urls: reader.site.url, goal: "how well does copper conduct?" });
    expect(model.requests).toHaveLength(1);
    const [request] = model.requests;
    expect([request?.method, request?.path, request?.headers.authorization]).toEqual([
      "POST",
      "/v1/chat/completions",
      "Bearer secret",
    ]);
    expect(request?.body).toMatchObject({
      model: "reader",
      temperature: 0,
      max_tokens: 2_048,
      messages: [{ role: "system" }, { role: "user" }],
    });
    const [system, user] = request?.body.messages ?? [];
    expect(system.content).toMatch(/never followed/);
    expect(user.content).toMatch(
      /Goal: how well does copper conduct\?[^]*<<<PAGE-[0-9a-f]{16}\n[^]*conducts electricity[^]*\nPAGE-[0-9a-f]{16}>>>/,
    );
    expect(data.pages[0].extraction).toEqual({
      ...JSON.parse(said),
      model: "reader-1",
      usage: { prompt_tokens: 100, completion_tokens: 20 },
    });
    expect(data.result).toBe(
      `The useful information in ${reader.site.url}/ for user goal how well does copper conduct? as follows:\n\n` +
        "Evidence in page:\n5.96e7 S/m\n\nSummary:\nCopper conducts well.",
    );
    expect(data.warning).toBeUndefined();
  });

  it.each([
    ["answers in another form", "I cannot do that.", 200, /no answer of the form/],
    ["fails", said, 500, /answered 500/],
    ["answers no completion", 7, 200, /something else than a completion/],
  ])("gives the text itself, and says why, where the model %s", async (_name, content, status, warning) => {
    const model = await openModel(content, status);
    await using reader = await openReader({ "/": ARTICLE }, toConfig(model.url));
    const { data, code } = await reader.visit({ urls: reader.site.url, goal: "conductivity" });
    expect(code).toBe(0);
    expect(data.warning).toMatch(warning);
    expect(data.result).toContain("conducts electricity");
  });

  it("gives the text itself, and says so, where there is no model", async () => {
    await using reader = await openReader({ "/": ARTICLE });
    const { data } = await reader.visit({ urls: reader.site.url, goal: "conductivity" });
    expect(data.warning).toMatch(/no model is configured/);
    expect(data.result).toContain("conducts electricity");
  });

  it("ends the model's request with the call", async () => {
    const model = await openDouble(() => undefined);
    await using reader = await openReader({ "/": ARTICLE }, toConfig(model.url));
    const caller = new AbortController();
    const params = { urls: reader.site.url, goal: "x" };
    const gone = fetch(`${reader.server.url}/execute`, {
      method: "POST",
      body: JSON.stringify({ worker_id: "w1", action: "web:visit", params }),
      signal: caller.signal,
    }).catch(() => "gone");
    await expect.poll(() => model.requests.length).toBe(1);
    caller.abort();
    expect(await gone).toBe("gone");
    await expect.poll(() => model.brokenOff()).toBe(1);
  });
});
