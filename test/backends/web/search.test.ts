import { describe, expect, it } from "vitest";
import { ManualClock } from "../../kit/manual-clock.ts";
import { testServer } from "../../kit/test-server.ts";
import { type Answer, openDouble, openWeb, type Recorded } from "./web-doubles.ts";

const PAGE = "https://example.org/copper";
const hit = { title: "Copper", url: PAGE, snippet: "It conducts.", date: null, source: null };

/** Doubles of the providers' HTTP APIs, after their documentation; none of this was answered by the real ones. */
const PROVIDERS = {
  serper: {
    page: 2,
    answer: () => ({
      searchParameters: { q: "copper", type: "search", engine: "google" },
      answerBox: { title: "Copper", answer: "A metal" },
      organic: [
        { title: "Copper", link: PAGE, snippet: "It conducts.", date: "2 days ago", position: 1 },
        { title: "No link", snippet: "x" },
        { title: "Script", link: "javascript:alert(1)" },
      ],
      relatedSearches: [{ query: "copper price" }],
      credits: 1,
    }),
    config: (url: string) => ({ serper: { api_key: "secret", url } }),
    sent: { method: "POST", path: "/search", body: { q: "copper", num: 5, page: 2, gl: "us", hl: "en", tbs: "qdr:w" } },
    key: ({ headers }: Recorded) => headers["x-api-key"],
    found: { results: [{ rank: 1, ...hit, date: "2 days ago" }], answer: "A metal", related: ["copper price"] },
  },
  tavily: {
    page: 1,
    answer: () => ({
      query: "copper",
      answer: "A metal",
      images: [],
      results: [{ title: "Copper", url: PAGE, content: "It conducts.", score: 0.9, raw_content: null }],
      response_time: 0.5,
    }),
    config: (url: string) => ({ tavily: { api_key: "secret", url } }),
    sent: {
      method: "POST",
      path: "/search",
      body: { query: "copper", max_results: 5, search_depth: "basic", country: "united states", time_range: "week" },
    },
    key: ({ headers }: Recorded) => headers.authorization?.replace("Bearer ", ""),
    found: { results: [{ rank: 1, ...hit }], answer: "A metal", related: [] },
  },
  brave: {
    page: 2,
    answer: () => ({
      type: "search",
      query: { original: "copper", more_results_available: true },
      web: {
        type: "search",
        results: [
          {
            title: "Copper",
            url: PAGE,
            description: "It <strong>conducts</strong>.",
            page_age: "2026-01-01T00:00:00",
            profile: { name: "Example" },
          },
        ],
      },
    }),
    config: (url: string) => ({ brave: { api_key: "secret", url } }),
    sent: {
      method: "GET",
      path: "/res/v1/web/search",
      query: {
        q: "copper",
        count: "5",
        offset: "1",
        country: "US",
        search_lang: "en",
        freshness: "pw",
        text_decorations: "false",
      },
    },
    key: ({ headers }: Recorded) => headers["x-subscription-token"],
    found: {
      results: [{ rank: 1, ...hit, date: "2026-01-01T00:00:00", source: "Example" }],
      answer: null,
      related: [],
    },
  },
  searxng: {
    page: 2,
    answer: () => ({
      query: "copper",
      number_of_results: 0,
      results: [{ url: PAGE, title: "Copper", content: "It conducts.", engine: "duckduckgo", publishedDate: null }],
      answers: [{ answer: "A metal", url: PAGE }],
      infoboxes: [],
      suggestions: ["copper price"],
      unresponsive_engines: [["bing", "timeout"]],
    }),
    config: (url: string) => ({ searxng: { url: `${url}/searx` } }),
    sent: {
      method: "GET",
      path: "/searx/search",
      query: {
        q: "copper",
        format: "json",
        categories: "general",
        pageno: "2",
        language: "en-US",
        time_range: "month",
      },
    },
    key: () => "secret",
    found: { results: [{ rank: 1, ...hit, source: "duckduckgo" }], answer: "A metal", related: ["copper price"] },
  },
} as const;

const ONE = { query: "copper", count: 5 };

/** How the providers say that they refuse, after their documentation. */
const REFUSALS = [
  ["serper", 403, { message: "Unauthorized.", statusCode: 403 }, "Unauthorized.", true],
  ["serper", 400, { message: "Not enough credits", statusCode: 400 }, "Not enough credits", false],
  ["tavily", 401, { detail: { error: "Unauthorized: missing or invalid API key." } }, "invalid API key", true],
  ["tavily", 432, { detail: { error: "This request exceeds your plan's set usage limit." } }, "usage limit", false],
  [
    "brave",
    422,
    {
      type: "ErrorResponse",
      error: { id: "x", status: 422, code: "SUBSCRIPTION_TOKEN_INVALID", detail: "The token is invalid." },
    },
    "The token is invalid.",
    true,
  ],
  ["searxng", 403, {}, "answered 403", true],
] as const;

/** A server with one double of Serper's API in front of which the clock stands still. */
async function openSerper(answer: Answer, more: object = {}) {
  const double = await openDouble(answer);
  const clock = new ManualClock();
  const config = { serper: { api_key: "secret", url: double.url }, ...more };
  const server = await testServer({ backends: [openWeb({ config, clock })] });
  return { double, clock, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const organic = (link: string) => ({ organic: [{ title: "t", link, snippet: "s" }] });
const refusal =
  (status: number, headers: Record<string, string> = {}, body: object = { message: "no" }): Answer =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };

describe("web:search asks a double of", () => {
  it.each(Object.entries(PROVIDERS))("%s in its own words, and reads its answer", async (name, provider) => {
    const double = await openDouble(provider.answer);
    await using server = await testServer({ backends: [openWeb({ config: provider.config(double.url) })] });
    const options = { page: provider.page, language: "en", country: "us", recency: "week" };
    const { body, status } = await server.execute("web:search", { ...ONE, ...options });
    expect(double.requests).toHaveLength(1);
    expect(double.requests[0]).toMatchObject(provider.sent);
    expect(double.requests.map((request) => provider.key(request))).toEqual(["secret"]);
    expect(status).toBe(200);
    expect(body.data.searches).toEqual([{ query: "copper", provider: name, cached: false, ...provider.found }]);
    expect(body.data.result).toMatch(
      /^A search for 'copper' found 1 results:[^]*1\. \[Copper\]\(https:\/\/example\.org\/copper\)/,
    );
    expect(body.data.inputs).toEqual({ query: "copper" });
    expect(body.meta?.session_id).toBeNull();
  });
});

describe("web:search takes no answer for", () => {
  it.each(REFUSALS)("a refusal of a double of %s: %i", async (name, status, answer, said, isKey) => {
    const double = await openDouble(refusal(status, {}, answer));
    await using server = await testServer({ backends: [openWeb({ config: PROVIDERS[name].config(double.url) })] });
    const { body } = await server.execute("web:search", ONE);
    expect(double.requests).toHaveLength(1);
    expect(body.meta).toMatchObject({ error: "upstream_failed", outcome: "infra_error", retryable: false });
    expect(body.message).toContain(said);
    expect(body.meta?.suggestion?.includes("its key") ?? false).toBe(isKey);
  });

  it("engines of SearXNG that all failed: nothing found is then no result", async () => {
    const down = { results: [], answers: [], suggestions: [], unresponsive_engines: [["bing", "timeout"]] };
    const double = await openDouble(() => down);
    await using server = await testServer({ backends: [openWeb({ config: PROVIDERS.searxng.config(double.url) })] });
    const { body } = await server.execute("web:search", ONE);
    expect(body.meta).toMatchObject({ error: "upstream_failed", outcome: "infra_error", retryable: true });
    expect(body.message).toContain("bing: timeout");
  });

  it.each([
    ["tavily", "web:search", 2, 1],
    ["brave", "web:search", 11, 10],
    ["brave", "web:image_search", 2, 1],
  ] as const)("a page that %s does not have (%s, page %i)", async (name, action, page, max) => {
    const double = await openDouble(PROVIDERS[name].answer);
    await using server = await testServer({ backends: [openWeb({ config: PROVIDERS[name].config(double.url) })] });
    const { body } = await server.execute(action, { query: "copper", page });
    expect(body.meta).toMatchObject({ error: "invalid_input", outcome: "rejected" });
    expect(body.data).toMatchObject({ limit: "page", max });
    expect(double.requests).toEqual([]);
  });

  it("a 429 of Brave's, which says by its quotas when the next may come", async () => {
    const quota = (remaining: string) => ({ "x-ratelimit-remaining": remaining, "x-ratelimit-reset": "1, 1419704" });
    const answers = [refusal(429, quota("0, 1500")), PROVIDERS.brave.answer, refusal(429, quota("0, 0"))];
    const double = await openDouble((request, response) => answers.shift()?.(request, response));
    const clock = new ManualClock();
    await using server = await testServer({
      backends: [openWeb({ config: PROVIDERS.brave.config(double.url), clock })],
    });
    const answered = server.execute("web:search", ONE);
    await expect.poll(() => [double.requests.length, clock.pending]).toEqual([1, 1]);
    await clock.advance(999);
    expect(double.requests).toHaveLength(1);
    await clock.advance(1);
    expect((await answered).body.data.searches[0].results).toHaveLength(1);
    const late = await server.execute("web:search", { query: "zinc" });
    expect(late.body.meta).toMatchObject({ error: "rate_limited", outcome: "infra_error" });
    expect(late.headers.get("retry-after")).toBe("1419704");
    expect(double.requests).toHaveLength(3);
  });
});

describe("web:image_search and web:reverse_image_search", () => {
  const image = { title: "A cat", image_url: "https://x.org/c.png", width: 640, height: 480 };
  const cases = [
    [
      "serper",
      (url: string) => ({ serper: { api_key: "k", url } }),
      {
        images: [
          {
            title: "A cat",
            imageUrl: "https://x.org/c.png",
            imageWidth: 640,
            imageHeight: 480,
            thumbnailUrl: "https://x.org/t.png",
            source: "X",
            link: "https://x.org/",
          },
        ],
      },
      { ...image, thumbnail_url: "https://x.org/t.png", link: "https://x.org/", source: "X" },
      { path: "/images", body: { q: "cat", num: 10 } },
    ],
    [
      "tavily",
      (url: string) => ({ tavily: { api_key: "k", url } }),
      { images: [{ url: "https://x.org/c.png", description: "A cat" }], results: [] },
      { title: "A cat", image_url: "https://x.org/c.png", link: null },
      { path: "/search", body: { query: "cat", include_images: true, include_image_descriptions: true } },
    ],
    [
      "brave",
      (url: string) => ({ brave: { api_key: "k", url } }),
      {
        type: "images",
        results: [
          {
            title: "A cat",
            url: "https://x.org/",
            source: "x.org",
            thumbnail: { src: "https://x.org/t.png" },
            properties: { url: "https://x.org/c.png", width: 640, height: 480 },
          },
        ],
      },
      { ...image, thumbnail_url: "https://x.org/t.png", link: "https://x.org/", source: "x.org" },
      { path: "/res/v1/images/search", query: { q: "cat", count: "10" } },
    ],
    [
      "searxng",
      (url: string) => ({ searxng: { url } }),
      {
        results: [
          {
            title: "A cat",
            url: "https://x.org/",
            img_src: "https://x.org/c.png",
            thumbnail_src: "https://x.org/t.png",
            resolution: "640 x 480",
            engine: "bing images",
          },
        ],
      },
      { ...image, thumbnail_url: "https://x.org/t.png", link: "https://x.org/", source: "bing images" },
      { path: "/search", query: { q: "cat", categories: "images", format: "json", pageno: "1" } },
    ],
  ] as const;

  it.each(cases)("ask a double of %s for images", async (_name, config, answer, expected, sent) => {
    const double = await openDouble(() => answer);
    await using server = await testServer({ backends: [openWeb({ config: config(double.url) })] });
    const { body } = await server.execute("web:image_search", { query: "cat" });
    expect(double.requests[0]).toMatchObject(sent);
    expect(body.data.images).toMatchObject([{ rank: 1, ...expected }]);
    expect(body.data.result).toContain("1. A cat");
  });

  it("ask a double of serper's lens for the pages that show an image, and nobody else can", async () => {
    const double = await openDouble(() => ({
      organic: [{ title: "A cat", link: "https://x.org/", source: "X", thumbnailUrl: "https://x.org/t.png" }],
    }));
    const config = { brave: { api_key: "k" }, serper: { api_key: "secret", url: double.url } };
    await using server = await testServer({
      backends: [openWeb({ config: { ...config, providers: ["brave", "serper"] } })],
    });
    const params = { image_url: "https://x.org/c.png" };
    const { body } = await server.execute("web:reverse_image_search", params);
    expect(double.requests[0]).toMatchObject({ method: "POST", path: "/lens", body: { url: "https://x.org/c.png" } });
    expect(body.data).toMatchObject({ images: [{ title: "A cat", link: "https://x.org/" }], inputs: params });
    const refused = await server.execute("web:reverse_image_search", { ...params, provider: "brave" });
    expect(refused.body.meta).toMatchObject({ error: "invalid_input", outcome: "rejected" });
    const wrong = await server.execute("web:reverse_image_search", { image_url: "file:///etc/passwd" });
    expect(wrong.body.meta).toMatchObject({ error: "invalid_url", outcome: "rejected" });
  });
});

describe("where the known implementation is weak, web:search", () => {
  it("waits longer before each further try, and gives up after those that the config allows", async () => {
    await using setup = await openSerper(refusal(503));
    const { double, clock, server } = setup;
    const answered = server.execute("web:search", ONE);
    await expect.poll(() => [double.requests.length, clock.pending]).toEqual([1, 1]);
    await clock.advance(499);
    expect(double.requests).toHaveLength(1);
    await clock.advance(1);
    await expect.poll(() => [double.requests.length, clock.pending]).toEqual([2, 1]);
    await clock.advance(999);
    expect(double.requests).toHaveLength(2);
    await clock.advance(1);
    const { body } = await answered;
    expect(double.requests).toHaveLength(3);
    expect(body.meta).toMatchObject({ error: "upstream_failed", outcome: "infra_error", retryable: true });
    expect(body.data).toMatchObject({ provider: "serper", status: 503 });
  });

  it.each([400, 401, 403, 404, 422, 429])("sends once what is answered %i", async (status) => {
    await using setup = await openSerper(refusal(status));
    const { body } = await setup.server.execute("web:search", ONE);
    expect(setup.double.requests).toHaveLength(1);
    expect(body.message).toContain(`serper answered ${status}: no`);
    expect(body.meta).toMatchObject({ outcome: "infra_error", retryable: status === 429 });
    expect(JSON.stringify(body)).not.toContain("secret");
  });

  it("tries again after a 429 when it says for how long, and not when that is too long", async () => {
    const answers = [
      refusal(429, { "retry-after": "7" }),
      () => organic(PAGE),
      refusal(429, { "retry-after": "3600" }),
    ];
    await using setup = await openSerper((request, response) => answers.shift()?.(request, response));
    const { double, clock, server } = setup;
    const answered = server.execute("web:search", ONE);
    await expect.poll(() => [double.requests.length, clock.pending]).toEqual([1, 1]);
    await clock.advance(6_999);
    expect(double.requests).toHaveLength(1);
    await clock.advance(1);
    expect((await answered).body.data.searches[0].results).toHaveLength(1);
    const late = await server.execute("web:search", { query: "zinc" });
    expect(late.body.meta).toMatchObject({ error: "rate_limited", outcome: "infra_error", retryable: true });
    expect(late.headers.get("retry-after")).toBe("3600");
    expect(double.requests).toHaveLength(3);
  });

  it("keeps answers for a while, by tenant and query, and asks anew when told to", async () => {
    await using setup = await openSerper(({ body }) => organic(`https://example.org/${body.q}`));
    const { double, clock, server } = setup;
    const cached = async (params: object) => (await server.execute("web:search", params)).body.data.searches[0].cached;
    expect(await cached(ONE)).toBe(false);
    expect(await cached(ONE)).toBe(true);
    expect(await cached({ ...ONE, page: 2 })).toBe(false);
    expect(await cached({ ...ONE, fresh: true })).toBe(false);
    expect(double.requests).toHaveLength(3);
    await clock.advance(3_600_000);
    expect(await cached(ONE)).toBe(false);
    expect(double.requests).toHaveLength(4);
  });

  it("asks once what many ask at the same time", async () => {
    const gate = Promise.withResolvers<void>();
    await using setup = await openSerper(async () => {
      await gate.promise;
      return organic(PAGE);
    });
    const calls = Array.from({ length: 10 }, () => setup.server.execute("web:search", ONE));
    await expect.poll(() => setup.double.requests.length).toBe(1);
    gate.resolve();
    const answers = await Promise.all(calls);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(setup.double.requests).toHaveLength(1);
  });

  it("keeps to a provider's pace, in the order of the calls", async () => {
    const serper = (url: string) => ({ api_key: "k", url, requests_per_second: 2, burst: 2, concurrency: 1 });
    const double = await openDouble(() => organic(PAGE));
    const clock = new ManualClock();
    const config = { serper: serper(double.url), search: { parallel: 10, max_wait_ms: 1_500 } };
    await using server = await testServer({ backends: [openWeb({ config, clock })] });
    const asked = () => double.requests.map(({ body }) => body.q);
    const answered = server.execute("web:search", { query: ["a", "b", "c", "d"] });
    await expect.poll(asked).toEqual(["a", "b"]);
    await expect.poll(() => clock.pending).toBeGreaterThan(0);
    await clock.advance(499);
    expect(asked()).toEqual(["a", "b"]);
    await clock.advance(1);
    await expect.poll(asked).toEqual(["a", "b", "c"]);
    await expect.poll(() => clock.pending).toBeGreaterThan(0);
    await clock.advance(500);
    expect((await answered).body.data.searches.map(({ query }: { query: string }) => query)).toEqual([
      "a",
      "b",
      "c",
      "d",
    ]);
  });

  it("says which key to set when nobody is configured, and sends nothing", async () => {
    const config = { serper: { api_key: "" }, searxng: { url: "" } };
    await using server = await testServer({ backends: [openWeb({ config })] });
    const { body } = await server.execute("web:search", ONE);
    expect(body.code).toBe(5002);
    expect(body.meta).toMatchObject({ error: "api_key_missing", outcome: "infra_error" });
    expect(body.meta?.suggestion).toContain("SERPER_API_KEY");
    expect(body.meta?.suggestion).toContain("TAVILY_API_KEY");
  });

  it("takes another provider when one fails, where the config says so", async () => {
    const serper = await openDouble(refusal(403));
    const brave = await openDouble(PROVIDERS.brave.answer);
    const config = { serper: { api_key: "k", url: serper.url }, brave: { api_key: "k", url: brave.url } };
    await using strict = await testServer({ backends: [openWeb({ config })] });
    expect((await strict.execute("web:search", ONE)).status).toBe(500);
    await using server = await testServer({ backends: [openWeb({ config: { ...config, fallback: true } })] });
    const { body } = await server.execute("web:search", ONE);
    expect(body.data.searches[0]).toMatchObject({ provider: "brave", results: [{ url: PAGE }] });
    const { body: named } = await server.execute("web:search", { ...ONE, provider: "serper" });
    expect(named.meta?.error).toBe("upstream_failed");
  });
});

describe("a batch of queries", () => {
  it("answers each in its place, fails each alone, and tells how far it is", async () => {
    await using setup = await openSerper((request, response) =>
      request.body.q === "bad" ? refusal(400)(request, response) : organic(`https://example.org/${request.body.q}`),
    );
    const stream = await fetch(`${setup.server.url}/execute`, {
      method: "POST",
      body: JSON.stringify({
        worker_id: "w1",
        action: "web:search",
        params: { query: ["a", "bad", "c"] },
        stream: true,
      }),
    });
    const text = await stream.text();
    expect([...text.matchAll(/"done":(\d)/g)].map(([, done]) => done)).toEqual(["1", "2", "3"]);
    const { body } = await setup.server.execute("web:search", { query: ["a", "bad", "c"] });
    const { searches, warning, result } = body.data;
    expect(searches.map(({ query, error }: { query: string; error?: object }) => [query, error !== undefined])).toEqual(
      [
        ["a", false],
        ["bad", true],
        ["c", false],
      ],
    );
    expect(warning).toMatch(/^1 of 3 queries failed: serper answered 400/);
    expect(result.split("\n=======\n")).toHaveLength(3);
    const { body: none } = await setup.server.execute("web:search", { query: ["bad", "bad"] });
    expect(none.meta).toMatchObject({ error: "all_failed", outcome: "infra_error" });
  });

  it("breaks off what is under way when it is cancelled", async () => {
    await using setup = await openSerper(() => undefined);
    const caller = new AbortController();
    const gone = fetch(`${setup.server.url}/execute`, {
      method: "POST",
      body: JSON.stringify({ worker_id: "w1", action: "web:search", params: { query: ["a", "b", "c"] } }),
      signal: caller.signal,
    }).catch(() => "gone");
    await expect.poll(() => setup.double.requests.length).toBe(3);
    caller.abort();
    expect(await gone).toBe("gone");
    await expect.poll(() => setup.double.brokenOff()).toBe(3);
  });

  it.each([
    ["D10 no query", {}, "invalid_input"],
    ["D10 an empty query", { query: " " }, "invalid_input"],
    ["D10 a number", { query: 7 }, "invalid_input"],
    ["D10 an unknown param", { query: "a", api_key: "forged" }, "invalid_input"],
    ["D10 an unknown provider", { query: "a", provider: "altavista" }, "invalid_input"],
    ["too many queries", { query: Array.from({ length: 65 }, () => "a") }, "limit_exceeded"],
  ])("refuses %s and asks nobody", async (_name, params, error) => {
    await using setup = await openSerper(() => organic(PAGE));
    const { body } = await setup.server.execute("web:search", params);
    expect(body.meta?.error).toBe(error);
    expect(setup.double.requests).toHaveLength(0);
  });

  it.each([
    ["no JSON", "<html>"],
    ["no object", "[1]"],
  ])("says that an answer of %s is none", async (_name, text) => {
    await using setup = await openSerper((_request, response) => void response.writeHead(200).end(text));
    const { body } = await setup.server.execute("web:search", ONE);
    expect(body.meta).toMatchObject({ error: "upstream_unreadable", outcome: "infra_error" });
  });

  it("stops reading an answer that is too long", async () => {
    await using setup = await openSerper(
      (_request, response) => {
        response.writeHead(200);
        const more = () => response.write("x".repeat(65_536), () => !response.destroyed && setImmediate(more));
        more();
      },
      { search: { max_answer_mib: 1 } },
    );
    const { body } = await setup.server.execute("web:search", ONE);
    expect(body.meta).toMatchObject({ error: "upstream_unreadable" });
    await expect.poll(() => setup.double.brokenOff()).toBe(1);
  });
});

it("searches the documents of the fixture provider without any network", async () => {
  const documents = [
    { url: "https://example.org/zinc", title: "Zinc", text: "Zinc protects steel." },
    {
      url: PAGE,
      title: "Copper",
      text: "Copper conducts.",
      image_url: "https://example.org/cu.png",
      date: "2026-01-01",
    },
  ];
  await using server = await testServer({ backends: [openWeb({ config: { fixture: { documents } } })] });
  const { body } = await server.execute("web:search", { query: "which metal conducts: copper?" });
  expect(body.data.searches[0]).toMatchObject({
    provider: "fixture",
    results: [{ rank: 1, url: PAGE, date: "2026-01-01" }],
  });
  const images = await server.execute("web:image_search", { query: "copper" });
  expect(images.body.data.images).toMatchObject([{ image_url: "https://example.org/cu.png", link: PAGE }]);
  const reverse = await server.execute("web:reverse_image_search", { image_url: "https://example.org/cu.png" });
  expect(reverse.body.data.images).toMatchObject([{ link: PAGE }]);
  const none = await server.execute("web:search", { query: "uranium" });
  expect(none.body.data).toMatchObject({
    result: expect.stringContaining("No results found for 'uranium'"),
    searches: [{ results: [] }],
  });
});
