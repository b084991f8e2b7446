import { describe, expect, it } from "vitest";
import { Asciicast } from "../../../src/engine/terminals/asciicast.ts";

const head = { columns: 80, rows: 24, startedAt: new Date(1_700_000_000_500), title: "" };
const parse = (cast: Asciicast) =>
  cast
    .toString()
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));

describe("a recording", () => {
  it("is an asciicast of version 2: a head, then what happened with its second", () => {
    const cast = new Asciicast(head, 10_000);
    cast.output(12, "hé\u001b[1m\r\n");
    cast.output(13, "");
    cast.resize(1_500, 100, 30);
    expect(parse(cast)).toEqual([
      { version: 2, width: 80, height: 24, timestamp: 1_700_000_000, env: { TERM: "xterm-256color" } },
      [0.012, "o", "hé\u001b[1m\r\n"],
      [1.5, "r", "100x30"],
    ]);
    expect(cast.complete).toBe(true);
  });

  it("ends at its bound, and says so once", () => {
    const cast = new Asciicast(head, 200);
    for (let at = 0; at < 50; at += 1) cast.output(at, "x".repeat(20));
    const lines = parse(cast);
    expect(lines.at(-1)).toEqual([expect.any(Number), "m", "the recording is full"]);
    expect(lines.filter((line) => Array.isArray(line) && line[1] === "m")).toHaveLength(1);
    expect(cast.toString().length).toBeLessThan(500);
    expect(cast.complete).toBe(false);
  });

  it("marks what is missing", () => {
    const cast = new Asciicast(head, 1_000);
    cast.gap(5, "7 bytes are left out");
    expect(cast.complete).toBe(false);
    expect(parse(cast)[1]).toEqual([0.005, "m", "7 bytes are left out"]);
  });
});
