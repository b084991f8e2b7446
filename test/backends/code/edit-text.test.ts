import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editText, numberLines } from "../../../src/backends/code/edit-text.ts";
import { nearestText } from "../../../src/backends/code/nearest-text.ts";

const edit = (text: string, oldString: string, newString: string, replaceAll = false) =>
  editText(text, { path: "f", oldString, newString, replaceAll });

describe("an edit", () => {
  it("replaces what is there exactly once, and shows the place", () => {
    expect(edit("a\nb\nc\n", "b\n", "B\nBB\n")).toEqual({
      text: "a\nB\nBB\nc\n",
      replacements: 1,
      firstLine: 2,
      snippet: "     1\ta\n     2\tB\n     3\tBB\n     4\tc\n",
    });
  });

  it("takes what it puts in as it is, dollars too", () => {
    expect(edit("x", "x", "$& $1 $$").text).toBe("$& $1 $$");
  });

  it("changes nothing when the text is there more often, and says where", () => {
    expect(() => edit("x\ny\nx\n", "x", "z")).toThrow(
      expect.objectContaining({ error: "business_failure", details: { path: "f", matches: 2, lines: [1, 3] } }),
    );
    expect(edit("x\ny\nx\n", "x", "z", true)).toMatchObject({ text: "z\ny\nz\n", replacements: 2, firstLine: 1 });
  });

  it("shows the nearest place when the text is not there", () => {
    const text = "def add(a, b):\n    return a + b\n\ndef sub(a, b):\n    return a - b\n";
    expect(() => edit(text, "def sub(a,b):\n  return a - b", "")).toThrow(
      expect.objectContaining({
        message: expect.stringContaining("line 4"),
        details: expect.objectContaining({
          nearest: expect.objectContaining({ line: 4, text: "def sub(a, b):\n    return a - b" }),
        }),
      }),
    );
    expect(nearestText("\treturn a  - b\n", text)).toMatchObject({ line: 5, whitespaceOnly: true });
    expect(nearestText("nothing of the kind here", text)).toBeNull();
  });

  it("finds any text that it was cut from, and puts any text in its place", () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ minLength: 1 }), fc.string(), fc.string(), (before, old, after, next) => {
        const text = before + old + after;
        const all = edit(text, old, next, true);
        expect(all.text).toBe(text.split(old).join(next));
        expect(all.replacements).toBeGreaterThan(0);
        // Never throws, whatever is looked for.
        nearestText(next, text);
      }),
    );
  });
});

describe("numbered lines", () => {
  it("begin at the first line's number and end as the text does", () => {
    expect(numberLines("a\nb", 9)).toBe("     9\ta\n    10\tb");
    expect(numberLines("a\n", 1)).toBe("     1\ta\n");
  });
});
