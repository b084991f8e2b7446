import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textSimilarity } from "../../../../../src/backends/vm/episode/evaluation/metrics/text-similarity.ts";
import { file, json, missing, passed, score } from "./judging.ts";

const rules = (value: unknown) => json(value);

describe("the metrics of text", () => {
  it.each([
    ["exact_match", "12\n", { expected: "12" }, {}, false],
    ["exact_match", "12\n", { expected: "12" }, { trim: true }, true],
    ["exact_match", "Yes", { expected: "yes" }, { ignore_case: true }, true],
    ["exact_match", { a: [1, 2] }, { expected: { a: [1, 2] } }, {}, true],
    ["match_in_list", "b", { expected: ["a", "b"] }, {}, true],
    ["match_in_list", "c", { expected: ["a", "b"] }, {}, false],
    ["is_in_list", ["a", "b"], { expected: "b" }, {}, true],
    ["is_in_list", "a\nb\n", { expected: "b" }, {}, true],
    ["is_in_list", "ab", { expected: "b" }, {}, false],
    ["literal_match", "A", "a", { ignore_case: true }, true],
    ["literal_match", ["b", "a"], ["a", "b"], { type: "list" }, true],
    ["literal_match", ["b"], ["a", "b"], { type: "list" }, false],
    ["fuzzy_match", "kitten", { expected: "sitting" }, { threshold: 0.6 }, true],
    ["fuzzy_match", "kitten", { expected: "sitting" }, { threshold: 0.7 }, false],
    ["check_include_exclude", "one two", { include: ["one"], exclude: ["three"] }, {}, true],
    ["check_include_exclude", "one two", { include: ["one"], exclude: ["two"] }, {}, false],
    ["check_include_exclude", "one two", { include: ["one", "three"] }, {}, false],
    ["check_regex", "v1.2.3", { patterns: "^v\\d+\\.\\d+" }, {}, true],
    ["check_regex", "V1", { patterns: ["^v1$", "^w"], flags: "i", any: true }, {}, true],
    ["check_regex", "V1", { patterns: ["^v1$", "^w"], flags: "i" }, {}, false],
    ["check_list", "alpha\nbeta\n", { expect: ["^al", "ta$"], unexpect: ["gamma"] }, {}, true],
    ["check_list", "alpha\nbeta\n", { expect: ["^ta"] }, {}, false],
    ["file_contains", "one two", { expected: ["two", "one"] }, {}, true],
    ["file_contains", "one two", { expected: ["two", "three"] }, {}, false],
    ["compare_text_file", "A  b\n", "a b", { ignore_case: true, ignore_blanks: true }, true],
    ["compare_text_file", "A b", "a b", {}, false],
  ] as const)("%s of %j against %j with %j: %s", async (func, result, expected, options, good) => {
    const judged = await score(func, json(result), rules(expected), options);
    expect(judged).toMatchObject({ kind: "score", score: good ? 1 : 0 });
    if (!good) expect(judged).toMatchObject({ reason: expect.stringMatching(/\w/) });
  });

  it("say how alike two texts are", async () => {
    expect(await score("fuzzy_match", json("kitten"), rules({ expected: "sitting" }))).toMatchObject({
      score: expect.closeTo(8 / 13),
    });
    expect(
      await score("diff_text_file", file("a", "one\ntwo\nthree\nfour"), file("b", "one\n2\nthree\nfour")),
    ).toMatchObject({ score: 0.75 });
    expect(await score("diff_text_file", file("a", "one"), file("b", "one"))).toEqual(passed);
  });

  it("measure likeness as a share: the same either way round, 1 only for the same", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 30 }), fc.string({ maxLength: 30 }), (left, right) => {
        const both = textSimilarity(left, right);
        expect(both).toBe(textSimilarity(right, left));
        expect(both).toBeGreaterThanOrEqual(0);
        expect(both === 1).toBe(left === right);
      }),
    );
  });

  it("give nothing for what is not there, but for those that ask whether it is", async () => {
    expect(await score("exact_match", missing, rules({ expected: "a" }))).toEqual({
      kind: "score",
      score: 0,
      reason: "there is nothing at /x",
    });
    expect(await score("file_exists", missing)).toMatchObject({ score: 0 });
    expect(await score("file_exists", file("a", ""))).toEqual(passed);
    expect(await score("file_absent", missing)).toEqual(passed);
    expect(await score("file_absent", json({}))).toMatchObject({ score: 0 });
  });

  it("call what is wrong with the evaluator a mistake, never a score", async () => {
    const mistakes = [
      score("exact_match", json("a")),
      score("exact_match", json("a"), rules({ expected: "a" }), { ignorecase: true }),
      score("check_regex", json("a"), rules({ patterns: "(" })),
      score("check_include_exclude", json("a"), rules({})),
      score("match_in_list", json("a"), rules({ expected: "a" })),
      score("fuzzy_match", json("a".repeat(20_000)), rules({ expected: "b".repeat(20_000) })),
    ];
    for (const judged of await Promise.all(mistakes)) {
      expect(judged).toMatchObject({ kind: "mistake", message: expect.stringMatching(/\w/) });
    }
  });
});
