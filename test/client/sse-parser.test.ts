import fc from "fast-check";
import { expect, test } from "vitest";
import { SseParser, type SseMessage } from "../../src/client/sse-parser.ts";

function parseInPieces(bytes: Uint8Array, cuts: readonly number[]): { messages: SseMessage[]; lastEventId: string } {
  const parser = new SseParser();
  const messages: SseMessage[] = [];
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((left, right) => left - right);
  for (const [index, place] of [...places, bytes.length].entries()) {
    messages.push(...parser.push(bytes.subarray(places[index - 1] ?? 0, place)));
  }
  return { messages, lastEventId: parser.lastEventId };
}

const encode = (text: string) => new TextEncoder().encode(text);

test("reads fields, comments, several data lines and ids that stay", () => {
  const text =
    ': hello\n\nid: 1\nevent: a\ndata: x\ndata:y\ndata:  z\n\ndata\n\nretry: 5\nid: 2\n\nid: 3\0\ndata: {"k":1}\n\n';
  const { messages, lastEventId } = parseInPieces(encode(text), []);
  expect(messages).toEqual([
    { id: "1", event: "a", data: "x\ny\n z" },
    { id: "1", event: "message", data: "" },
    { id: "2", event: "message", data: '{"k":1}' },
  ]);
  expect(lastEventId).toBe("2");
});

test("an event whose end has not come is none", () => {
  const { messages } = parseInPieces(encode("data: whole\n\ndata: half\n"), []);
  expect(messages.map(({ data }) => data)).toEqual(["whole"]);
});

test("ignores a byte order mark at the start", () => {
  expect(parseInPieces(encode("\uFEFFdata: x\n\n"), [1, 2]).messages).toEqual([
    { id: "", event: "message", data: "x" },
  ]);
});

const line = fc.string({ unit: "binary", maxLength: 20 }).map((text) => text.replace(/[\r\n\0]/g, "·"));
const name = line.map((text) => text.trim());
const sent = fc.record({
  id: name,
  event: name.filter((text) => text !== ""),
  data: fc.array(line, { minLength: 1, maxLength: 3 }),
  comment: fc.option(line),
  newline: fc.constantFrom("\n", "\r\n", "\r"),
});

test("any cutting of the bytes, in the middle of characters and line ends too, gives the same events", () => {
  fc.assert(
    fc.property(fc.array(sent, { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 40 }), (events, cuts) => {
      const text = events
        .map(({ id, event, data, comment, newline }) => {
          const lines = [
            ...(comment === null ? [] : [`:${comment}`]),
            `id: ${id}`,
            `event: ${event}`,
            ...data.map((each) => `data: ${each}`),
          ];
          return lines.map((each) => each + newline).join("") + newline;
        })
        .join("");
      const { messages } = parseInPieces(encode(text), cuts);
      expect(messages).toEqual(events.map(({ id, event, data }) => ({ id, event, data: data.join("\n") })));
    }),
    { numRuns: 500 },
  );
});

test("any bytes at all are read without a throw, the same in one piece and in many", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(fc.nat(), { maxLength: 40 }), (bytes, cuts) => {
      expect(parseInPieces(bytes, cuts)).toEqual(parseInPieces(bytes, []));
    }),
    { numRuns: 500 },
  );
});
