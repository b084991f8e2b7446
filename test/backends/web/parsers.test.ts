import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRetryAfter } from "../../../src/backends/web/http/retry.ts";
import { parseRobots } from "../../../src/backends/web/http/robots-rules.ts";
import { checkUrl } from "../../../src/backends/web/http/url.ts";
import { decodeText } from "../../../src/backends/web/page/decode-text.ts";
import { parseExtraction } from "../../../src/backends/web/page/extract-goal.ts";
import { readArticle } from "../../../src/backends/web/page/read-article.ts";
import { readBrave } from "../../../src/backends/web/search/brave.ts";
import type { SearchQuery } from "../../../src/backends/web/search/provider.ts";
import { textOf, urlOf } from "../../../src/backends/web/search/read-answer.ts";
import { readSearxng } from "../../../src/backends/web/search/searxng.ts";
import { readSerper } from "../../../src/backends/web/search/serper.ts";
import { readTavily } from "../../../src/backends/web/search/tavily.ts";
import { ToolyardError } from "../../../src/core/errors.ts";
import { ManualClock } from "../../kit/manual-clock.ts";

const READERS = { serper: readSerper, tavily: readTavily, brave: readBrave, searxng: readSearxng };
const KEYS =
  "organic images results web title link url snippet content description answer answerBox infoboxes answers suggestions relatedSearches query thumbnail properties src img_src resolution profile name date page_age imageUrl imageWidth".split(
    " ",
  );

/** JSON that has the names of the providers' answers in it, at any place and of any type. */
const { value: someJson } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(
      "https://example.org/a",
      "javascript:alert(1)",
      "<b>x</b> &amp; &#x41; &#0; &#xffffff;",
      "640 x 480",
    ),
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.double(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...KEYS, "__proto__"), tie("value"), { maxKeys: 6 }),
  ),
}));

describe.each(Object.entries(READERS))("the answer of %s", (_name, read) => {
  it("is read whatever it is, or refused as no answer", () => {
    const kind = fc.constantFrom("web" as const, "images" as const, "reverse_images" as const);
    fc.assert(
      fc.property(someJson, kind, fc.integer({ min: 1, max: 5 }), (answer, of, count) => {
        const query: SearchQuery = { kind: of, text: "x", count, page: 1 };
        const isObject = typeof answer === "object" && answer !== null && !Array.isArray(answer);
        if (!isObject) {
          expect(() => read(answer, query)).toThrow(ToolyardError);
          return;
        }
        const { results, images, answer: said, related } = read(answer, query);
        expect(results.length).toBeLessThanOrEqual(count);
        expect(images.length).toBeLessThanOrEqual(count);
        for (const [index, { rank, url, title }] of results.entries()) {
          expect(rank).toBe(index + 1);
          expect(url).toMatch(/^https?:/);
          expect(title.isWellFormed()).toBe(true);
        }
        for (const { image_url: image, thumbnail_url: thumbnail, link } of images) {
          for (const url of [image, thumbnail, link]) if (url !== null) expect(url).toMatch(/^https?:/);
        }
        for (const text of [said ?? "", ...related]) expect(text.isWellFormed()).toBe(true);
        expect(Object.getPrototypeOf({})).toBe(Object.prototype);
      }),
    );
  });
});

it("texts of answers lose their markup, and URLs that lead elsewhere than to the web", () => {
  expect(textOf(" It <strong>conducts</strong>,\n 1 < 2 &amp; 3 &#39;x&#x27; &unknown; ")).toBe(
    "It conducts, 1 < 2 & 3 'x' &unknown;",
  );
  expect([textOf(""), textOf(7), textOf(" \n")]).toEqual([null, null, null]);
  expect([urlOf("javascript:x"), urlOf("//x.org"), urlOf("https://x.org")]).toEqual([null, null, "https://x.org/"]);
});

describe("robots.txt", () => {
  const allows = (text: string, path: string) =>
    parseRobots(text, "Toolyard").allows(new URL(`https://example.org${path}`));

  it.each([
    ["", "/x", true],
    ["User-agent: *\nDisallow: /x", "/x/y", false],
    ["User-agent: *\nDisallow:", "/x", true],
    ["user-agent: TOOLYARD\ndisallow: /x\n\nuser-agent: *\ndisallow: /", "/y", true],
    ["User-agent: a\nUser-agent: toolyard\nDisallow: /x", "/x", false],
    ["User-agent: *\nDisallow: /x\nAllow: /x/y", "/x/y/z", true],
    ["User-agent: *\nDisallow: /*.pdf$", "/a.pdf", false],
    ["User-agent: *\nDisallow: /*.pdf$", "/a.pdf?x", true],
    ["User-agent: *\r\nDisallow: /x # why\r\n", "/x", false],
    ["<html>404</html>", "/x", true],
    ["User-agent: *\nDisallow: /%7ejoe", "/~joe", false],
    ["User-agent: *\nDisallow: /%c3%a9t\u00e9", "/\u00e9t%C3%A9", false],
    ["User-agent: *\nDisallow: /a%2fb", "/a/b", true],
    ["User-agent: *\nDisallow: /x\n\nUser-agent: *\nDisallow: /y", "/y", false],
    ["User-agent: *\nDisallow: /x\nSitemap: https://example.org/s\nDisallow: /y", "/y", false],
    ["User-agent: toolyard-news\nDisallow: /", "/x", true],
    ["User-agent: Toolyard/1.0\nDisallow: /", "/x", false],
    ["User-agent: *\nDisallow: /\nAllow: /$", "/", true],
    ["User-agent: *\nDisallow: /\nAllow: /$", "/x", false],
    ["User-agent: *\nDisallow: /x\nAllow: /x", "/x", true],
    ["User-agent: *\nDisallow: /a*b*c", "/a-b-d-c-e", false],
    ["User-agent: *\nDisallow: /a*b$", "/a-b-b", false],
    ["User-agent: *\nDisallow: /a*aa$", "/aa", true],
    ["User-agent: *\nDisallow: /", "/robots.txt", true],
    ["Disallow: /", "/x", true],
    ["\ufeffUser-agent: *\nDisallow: /", "/x", false],
  ])("%j at %s", (text, path, expected) => {
    expect(allows(text, path)).toBe(expected);
  });

  it("is read whatever it is", () => {
    const line = fc.oneof(
      fc.constantFrom(
        "User-agent: *",
        "User-agent: toolyard",
        "Disallow: /",
        "Allow: /*a*b*c$",
        "Crawl-delay: x",
        "Disallow: %zz",
      ),
      fc.string({ unit: "binary", maxLength: 60 }),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), fc.webPath(), (lines, path) => {
        expect(allows(lines.join("\n"), path)).toBeTypeOf("boolean");
      }),
    );
  });

  it("matches as its standard says, whatever the pattern", () => {
    const character = fc.constantFrom("a", "b", "*", "$", "/");
    const text = fc.string({ unit: character, maxLength: 8 });
    fc.assert(
      fc.property(text, text, (written, path) => {
        const pattern = `/${written}`;
        const source = pattern.replace(/[$](?!$)/g, "[$]").replaceAll("*", ".*");
        const expected = new RegExp(`^${source}`).test(`/${path}`);
        expect(allows(`User-agent: *\nDisallow: ${pattern}`, `/${path}`)).toBe(!expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it("costs no more than it is long, whatever its patterns: another algorithm would not end here", () => {
    const patterns = Array.from({ length: 3_000 }, (_, index) => `Disallow: /${"*a".repeat(80)}${index}$`).join("\n");
    expect(allows(`User-agent: *\n${patterns}`, `/${"a".repeat(8_000)}`)).toBe(true);
  });
});

it("reads Retry-After as seconds or as a date, and nothing else", () => {
  const clock = new ManualClock();
  expect(readRetryAfter("120", clock)).toBe(120_000);
  expect(readRetryAfter("Thu, 01 Jan 2026 00:01:00 GMT", clock)).toBe(60_000);
  expect(readRetryAfter("Thu, 01 Jan 1970 00:00:00 GMT", clock)).toBe(0);
  for (const text of ["", "-1", "1.5", "soon", "1e9", undefined, null])
    expect(readRetryAfter(text, clock)).toBeUndefined();
  fc.assert(
    fc.property(fc.string(), (text) => {
      const ms = readRetryAfter(text, clock);
      expect(ms === undefined || (Number.isFinite(ms) && ms >= 0)).toBe(true);
    }),
  );
});

it("takes as a URL what is one of http and https, in its one form, and nothing else", () => {
  const text = fc.oneof(
    fc.webUrl(),
    fc.string({ unit: "binary" }),
    fc.string().map((rest) => `http://${rest}`),
  );
  fc.assert(
    fc.property(text, (written) => {
      try {
        const url = checkUrl(written);
        expect(["http:", "https:"]).toContain(url.protocol);
        expect([url.username, url.password, url.hash]).toEqual(["", "", ""]);
        expect(checkUrl(url.href).href).toBe(url.href);
      } catch (error) {
        expect(error).toMatchObject({ error: "invalid_url", outcome: "rejected" });
      }
    }),
  );
});

it("decodes any bytes under any label", () => {
  const type = fc.oneof(
    fc.constantFrom("text/html", "text/html; charset=shift_jis", 'x; charset="utf-16"', "x; charset=none"),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), type, (bytes, header) => {
      expect(decodeText(Buffer.from(bytes), header)).toBeTypeOf("string");
    }),
  );
});

it("finds the object in what a model said, or says that there is none", () => {
  expect(parseExtraction('x {"evidence": "e"} y')).toEqual({ rational: "", evidence: "e", summary: "" });
  for (const said of ["", "{", "}{", "{}", '{"evidence": 7}', '{"rational": "r"}', "[1]"])
    expect(parseExtraction(said)).toBeNull();
  fc.assert(fc.property(fc.string({ unit: "binary" }), (said) => void parseExtraction(`{${said}}`)));
});

it("reads any HTML, and gives text that is well formed", async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ..."<p> </p> <div> </div> <table> <tr> <td> <th> </table> <a href='x'> </a> <body> </body> <html> <head> </head> <script> </script> <!-- --> <svg> <title> <li> <ul> <pre><code> <br> <img src=x alt=y> <template> <base href=//[> <h1> </h1> <b> </i> &amp; &#x; <![CDATA[ ]]> <?x ?>".split(
        " ",
      ),
    ),
    fc.string({ unit: "binary", maxLength: 30 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 60 }), fc.boolean(), async (pieces, whole) => {
      const { text, links } = await readArticle(pieces.join(""), new URL("https://example.org/"), whole);
      expect(text.isWellFormed() || !pieces.join("").isWellFormed()).toBe(true);
      expect(text).not.toMatch(/<script/);
      for (const { url } of links) expect(url).toMatch(/^https?:/);
    }),
    { numRuns: 60 },
  );
});
