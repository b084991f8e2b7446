import { describe, expect, it } from "vitest";
import { json, passed, score } from "./judging.ts";

describe("the metrics of a browser's tabs", () => {
  const tab = { url: "https://www.example.org/a/?q=1#top", title: "A" };

  it.each([
    ["https://example.org/a?q=1#top", true],
    ["www.example.org/a/?q=1#top", true],
    ["https://example.org/b?q=1#top", false],
    ["https://example.org/a?q=2#top", false],
    ["http://example.org/a?q=1#top", false],
  ])("compare the address in front with %s: %s", async (url, good) => {
    expect(await score("is_expected_active_tab", json(tab), json({ type: "url", url }))).toMatchObject({
      score: good ? 1 : 0,
    });
  });

  it("compare all addresses in their order, and match the one in front", async () => {
    const tabs = json([tab, { url: "about:blank", title: "" }]);
    const urls = ["https://example.org/a?q=1#top", "about:blank"];
    expect(await score("is_expected_tabs", tabs, json({ type: "url", urls }))).toEqual(passed);
    expect(await score("is_expected_tabs", tabs, json({ urls: urls.toReversed() }))).toMatchObject({ score: 0 });
    expect(await score("is_expected_tabs", tabs, json({ urls: urls.slice(1) }))).toMatchObject({ score: 0 });
    expect(await score("is_expected_url_pattern_match", json(tab), json({ expected: ["q=\\d", "^https"] }))).toEqual(
      passed,
    );
    expect(await score("is_expected_url_pattern_match", json(tab), json({ expected: ["q=2"] }))).toMatchObject({
      score: 0,
    });
  });
});

describe("the metric of the accessibility tree", () => {
  const tree = json({
    role: "desktop",
    children: [
      {
        role: "frame",
        name: "Untitled 1",
        states: ["active", "showing"],
        children: [{ role: "push button", name: "Save" }],
      },
      { role: "push button", name: "Cancel" },
    ],
  });

  it.each([
    [[{ role: "push button", name: "Save" }], true],
    [[{ role: "push button", name: "save" }], false],
    [[{ role: "push button", name: "SAV", exact: false }], true],
    [[{ role: "frame", states: ["active"] }, { name: "Cancel" }], true],
    [[{ role: "frame", states: ["focused"] }], false],
    [{ rules: [{ role: "push button", count: 2 }] }, true],
    [[{ role: "push button", count: 1 }], false],
    [[{ role: "dialog", count: 0 }], true],
  ])("looks for nodes by %j: %s", async (rules, good) => {
    expect(await score("check_accessibility_tree", tree, json(rules))).toMatchObject({ score: good ? 1 : 0 });
  });
});
