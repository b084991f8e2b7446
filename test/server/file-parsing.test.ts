import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { parseRange } from "../../src/server/files/byte-range.ts";
import { toContentType, toDisposition } from "../../src/server/files/file-headers.ts";
import { readPath } from "../../src/server/files/file-path.ts";

describe("a Range header", () => {
  it("never asks for what there is not, whatever it says", () => {
    const digits = fc.oneof(fc.constant(""), fc.nat().map(String), fc.bigInt({ min: 0n }).map(String));
    const header = fc.oneof(
      fc.string(),
      fc.tuple(digits, digits).map(([first, last]) => `bytes=${first}-${last}`),
    );
    fc.assert(
      fc.property(header, fc.nat(), (text, size) => {
        const range = parseRange(text, size);
        if (range === undefined || range === "unsatisfiable") return;
        expect(range.length).toBeGreaterThan(0);
        expect(range.start).toBeGreaterThanOrEqual(0);
        expect(range.start + range.length).toBeLessThanOrEqual(size);
      }),
      { numRuns: 2_000 },
    );
  });

  it("gives what a slice of the bytes would", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 50 }), fc.nat(60), fc.nat(60), (bytes, first, more) => {
        const range = parseRange(`bytes=${first}-${first + more}`, bytes.length);
        const wanted = bytes.slice(first, first + more + 1);
        if (range === "unsatisfiable" || range === undefined) expect(wanted).toHaveLength(0);
        else expect(bytes.slice(range.start, range.start + range.length)).toEqual(wanted);
      }),
    );
  });

  it("is passed over where its syntax is wrong or there are several", () => {
    for (const text of [
      "bytes=",
      "bytes=-",
      "bytes=a-b",
      "bytes=5-2",
      "lines=1-2",
      "bytes=0-1,2-3",
      "bytes = 0-1",
      "bytes=+1-2",
    ]) {
      expect([text, parseRange(text, 10)]).toEqual([text, undefined]);
    }
    for (const text of ["bytes=10-", "bytes=-0", "bytes=99999999999999999999-"]) {
      expect([text, parseRange(text, 10)]).toEqual([text, "unsatisfiable"]);
    }
    expect(parseRange("bytes=0-", 0)).toBe("unsatisfiable");
  });
});

describe("C01: the path in a query", () => {
  it("comes out as it was encoded, or is refused", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), (path) => {
        const query = `/files?path=${encodeURIComponent(path)}`;
        if (path.includes("\0")) expect(() => readPath(query)).toThrow(ToolyardError);
        else expect(readPath(query)).toBe(path);
      }),
      { numRuns: 2_000 },
    );
  });

  it("fails in one way only, whatever the query is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary-ascii" }), (query) => {
        try {
          const path = readPath(`/files?path=${query}`);
          expect(path).not.toContain("\0");
          expect(path).not.toContain("\uFFFD");
          expect(Buffer.byteLength(path)).toBeLessThanOrEqual(4_096);
        } catch (error) {
          expect(error).toMatchObject({ error: "path_refused" });
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("the name that a download is offered under", () => {
  it("cannot end the header, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (name) => {
        const header = toDisposition(name, "attachment");
        expect(header).toMatch(/^attachment; filename="[\x20-\x7e]*"; filename\*=UTF-8''[A-Za-z0-9!~._%-]*$/);
        expect(header.match(/"/g)).toHaveLength(2);
        expect(() => new Headers({ "content-disposition": header })).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
  });

  it("says nothing of its type that its end does not say", () => {
    expect(["a.PNG", "dir.png/file", ".png", "x.unheard-of", "a.constructor"].map(toContentType)).toEqual([
      "image/png",
      "application/octet-stream",
      "image/png",
      "application/octet-stream",
      "application/octet-stream",
    ]);
  });
});
