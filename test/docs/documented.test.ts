import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { defaultLimitsConfig } from "../../src/config/limits.ts";
import { ERRORS } from "../../src/core/errors.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

/** The cells of every table row of a page, without padding and code marks. */
const rows = (page: string) =>
  page
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim().replaceAll("`", "")),
    );

describe("the docs", () => {
  it("docs/http.md lists every error with its code, status and outcome", () => {
    const documented = rows(read("docs/http.md")).filter(([code]) => /^\d{4}$/.test(code ?? ""));
    const actual = Object.entries(ERRORS).map(([name, { code, status, outcome }]) => [
      `${code}`,
      `${status}`,
      name,
      outcome,
    ]);
    expect(documented.toSorted()).toEqual(actual.toSorted());
  });

  it("docs/config.md lists every limit with its default", () => {
    const documented = rows(read("docs/config.md")).filter(
      ([name]) => name !== undefined && name in defaultLimitsConfig,
    );
    const actual = Object.entries(defaultLimitsConfig).map(([name, value]) => [name, String(value)]);
    expect(documented.map(([name, value]) => [name, value]).toSorted()).toEqual(actual.toSorted());
  });

  it("name only files that exist", () => {
    const pages = [
      "README.md",
      "CONTRIBUTING.md",
      ...[
        "http",
        "backends",
        "client",
        "config",
        "runtimes",
        "sandboxes",
        "security",
        "jobs",
        "events",
        "terminals",
        "web",
        "doc",
      ].map((page) => `docs/${page}.md`),
    ];
    for (const page of pages) {
      for (const [, target] of read(page).matchAll(/\]\((?!https?:|#)([^)#]+)\)/g)) {
        expect(
          () => readFileSync(new URL(target ?? "", new URL(`../../${page}`, import.meta.url))),
          `${page} → ${target}`,
        ).not.toThrow(/ENOENT/);
      }
    }
  });
});
