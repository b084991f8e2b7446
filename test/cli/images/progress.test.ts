import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEngineLine, readEngineEvents, toPlainText } from "../../../src/cli/images/progress.ts";
import { BuildReporter } from "../../../src/cli/images/reporter.ts";

describe("the engine's progress", () => {
  it("is steps, output, the image and the failure; remarks and transfers are left out", () => {
    const lines = [
      { stream: "Step 3/11 : RUN apt-get update  &&   true\n" },
      { stream: " ---> Running in 12ab\n" },
      { stream: "\n" },
      { stream: "Get:1 \u001b[32mhttp://deb.example\u001b[0m\u0007\n" },
      { stream: "10%\r20%\r100%\n" },
      { status: "Downloading", id: "aa", progressDetail: { current: 1, total: 2 } },
      { status: "Pull complete", id: "aa" },
      { aux: { ID: "sha256:beef" } },
      { error: "boom", errorDetail: { message: "boom" } },
    ];
    expect(lines.map((line) => parseEngineLine(JSON.stringify(line)))).toEqual([
      { kind: "step", index: 3, total: 11, instruction: "RUN apt-get update && true" },
      null,
      null,
      { kind: "output", text: "Get:1 http://deb.example" },
      { kind: "output", text: "100%" },
      null,
      { kind: "output", text: "aa: Pull complete" },
      { kind: "image", id: "sha256:beef" },
      { kind: "failure", message: "boom" },
    ]);
  });

  it("never throws, and never passes control characters on, whatever the engine sends", () => {
    const anything = fc.oneof(
      fc.string(),
      fc.json(),
      fc.record({ stream: fc.string({ unit: "binary" }) }).map((o) => JSON.stringify(o)),
    );
    fc.assert(
      fc.property(anything, (line) => {
        const event = parseEngineLine(line);
        const text = event === null ? "" : Object.values(event).join("");
        // oxlint-disable-next-line no-control-regex
        expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
      }),
    );
  });

  it("reads the same however the answer is cut into chunks", async () => {
    const texts = fc.array(fc.string({ unit: "grapheme", minLength: 1 }), { maxLength: 8 });
    const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(texts, cuts, async (streams, sizes) => {
        const bytes = Buffer.from(streams.map((stream) => `${JSON.stringify({ stream })}\r\n`).join(""));
        const answer = new PassThrough();
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1;
          answer.write(bytes.subarray(at, at + size));
          at += size;
        }
        answer.end();
        const events = [];
        for await (const event of readEngineEvents(answer)) events.push(event);
        const expected = streams.map((stream) => parseEngineLine(JSON.stringify({ stream })));
        expect(events).toEqual(expected.filter((event) => event !== null));
      }),
      { numRuns: 50 },
    );
  });

  it.each(["\r", "a\r", " ", "\n", "\u001b["])("reads a long line of %j in one go", { timeout: 10_000 }, (unit) => {
    // It takes milliseconds; a pattern that tries every start anew takes half a minute.
    expect(parseEngineLine(JSON.stringify({ stream: `${unit.repeat(100_000)}x` }))).toMatchObject({ kind: "output" });
  });

  it("takes escape sequences out of what a build prints", () => {
    expect(toPlainText("\u001b]0;title\u0007\u001b[2Jred\u001b[0m\r\n")).toBe("red");
  });
});

describe("a build's reporter", () => {
  const setUp = (verbose = false) => {
    const lines: string[] = [];
    const clock = { ms: 0 };
    const reporter = new BuildReporter({
      name: "slim",
      write: (line) => lines.push(line),
      now: () => clock.ms,
      verbose,
    });
    return { lines, clock, reporter };
  };

  it("shows steps at once, and of the output a line when nothing was shown for ten seconds", () => {
    const { lines, clock, reporter } = setUp();
    reporter.step("step 1/2: RUN sleep");
    reporter.output("quiet");
    clock.ms = 12_000;
    reporter.output("Setting up python3\nmore");
    clock.ms = 15_000;
    reporter.output("quiet again");
    clock.ms = 75_000;
    reporter.output("still");
    expect(lines).toEqual([
      "slim  step 1/2: RUN sleep",
      "slim    12 s so far: Setting up python3",
      "slim    1 min 15 s so far: still",
    ]);
  });

  it("keeps the end of a step's output for its failure, and nothing of the step before", () => {
    const { lines, reporter } = setUp();
    reporter.output("of another step");
    reporter.step("step 2/2");
    for (let line = 1; line <= 30; line++) reporter.output(`line ${line}`);
    reporter.showTail();
    expect(lines.at(-1)).toBe("slim    line 30");
    expect(lines).toHaveLength(21);
  });

  it("shows everything once when it is verbose", () => {
    const { lines, reporter } = setUp(true);
    reporter.output("a\nb");
    reporter.showTail();
    expect(lines).toEqual(["slim    a", "slim    b"]);
  });
});
