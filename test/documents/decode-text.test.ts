import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ToolyardError } from "../../src/core/errors.ts";
import { decodeText } from "../../src/documents/decode-text.ts";
import { readDocument } from "../../src/documents/read-document.ts";

const bytes = (...numbers: number[]) => Uint8Array.from(numbers);
const latin1 = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));
const utf16be = (text: string) => Buffer.from(text, "utf16le").swap16();

it("decodes by the mark, else as UTF-8, else as Windows-1252, and says which", () => {
  const marked = (mark: number[], text: Uint8Array) => Buffer.concat([bytes(...mark), text]);
  const text = "Grüße, señor — 10 €";
  expect(decodeText(text)).toEqual({ text, charset: null });
  expect(decodeText(Buffer.from(text))).toEqual({ text, charset: "utf-8" });
  expect(decodeText(marked([0xef, 0xbb, 0xbf], Buffer.from(text)))).toEqual({ text, charset: "utf-8" });
  expect(decodeText(marked([0xff, 0xfe], Buffer.from(text, "utf16le")))).toEqual({ text, charset: "utf-16le" });
  expect(decodeText(marked([0xfe, 0xff], utf16be(text)))).toEqual({ text, charset: "utf-16be" });
  expect(decodeText(latin1("Grüße, señor"))).toEqual({ text: "Grüße, señor", charset: "windows-1252" });
  // What Windows-1252 has where Latin-1 has nothing: a euro, quotes, a dash.
  expect(decodeText(bytes(0x80, 0x93, 0x41, 0x94, 0x97))).toEqual({ text: "€“A”—", charset: "windows-1252" });
  // The end of a file of DOS.
  const dos = decodeText(latin1("Zeile für Zeile\r\n\u001a"));
  expect(dos).toMatchObject({ charset: "windows-1252", text: expect.stringMatching(/^Zeile für/) });
});

it("takes the charset of a media type at its word", () => {
  const sjis = bytes(0x93, 0xfa, 0x96, 0x7b);
  const decode = (content: Uint8Array, charset: string) => decodeText(content, { mediaType: `text/plain; ${charset}` });
  expect(decode(sjis, "charset=Shift_JIS")).toEqual({ text: "日本", charset: "shift_jis" });
  expect(decode(utf16be("no mark"), 'charset="utf-16be"')).toEqual({ text: "no mark", charset: "utf-16be" });
  // A mark is surer than what is said.
  expect(decode(Buffer.from("\ufeffä"), "charset=latin1")).toEqual({ text: "ä", charset: "utf-8" });
  expect(() => decode(latin1("ä"), "charset=utf-8")).toThrow("not in utf-8");
  expect(() => decode(sjis, "charset=klingon")).toThrow("klingon");
});

it("reads HTML and XML by what they say of themselves, as long as that can be so", async () => {
  const page = (meta: string) =>
    latin1(`<html><head>${meta}<title>Grüße</title></head><body><p>señor</p></body></html>`);
  const read = (content: Uint8Array, name: string, mediaType?: string) => readDocument({ content, name, mediaType });
  for (const meta of ['<meta charset="iso-8859-1">', "", '<meta charset="utf-16">', '<meta charset="klingon">']) {
    // oxlint-disable-next-line no-await-in-loop
    const document = await read(page(meta), "page.html");
    expect(document, meta).toMatchObject({ title: "Grüße", text: "señor", charset: "windows-1252" });
  }
  const greek = page('<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-7">');
  await expect(read(greek, "page.html")).resolves.toMatchObject({ title: "Grόίe", charset: "iso-8859-7" });
  const large = Buffer.concat([page('<meta charset="latin1">'), latin1(`<p>${"ä ".repeat(20_000)}</p>`)]);
  await expect(read(large, "page.html")).resolves.toMatchObject({ title: "Grüße", charset: "windows-1252" });
  const xml = latin1('<?xml version="1.0" encoding="ISO-8859-2"?><a>\u00b1</a>');
  await expect(read(xml, "a.xml")).resolves.toMatchObject({
    text: expect.stringContaining("ą"),
    charset: "iso-8859-2",
  });
  // What is no markup says nothing of itself.
  await expect(read(xml, "a.txt")).resolves.toMatchObject({ charset: "windows-1252" });
  // What was sent as text was decoded before.
  const sent = await readDocument({
    content: "<meta charset=iso-8859-7><p>ä</p>",
    name: undefined,
    mediaType: "text/html; charset=iso-8859-7",
  });
  expect(sent).toMatchObject({ text: "ä", charset: null });
});

it("refuses what is binary by a typed error, whatever its ending says", async () => {
  const files = [
    bytes(0x41, 0x00, 0x42),
    utf16be("no mark"),
    Buffer.concat([bytes(0xff, 0xfe, 0x00, 0x00), Buffer.from("utf-32")]),
    bytes(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    bytes(0x1f, 0x8b, 0x08, 0x08, 0xff, 0xfe),
    Buffer.concat([bytes(0xff), latin1("ü\u0001\u0002"), latin1("x".repeat(900))]),
    randomBytes(4_096),
  ];
  for (const content of files) {
    // oxlint-disable-next-line no-await-in-loop
    await expect(readDocument({ content, name: "x.txt", mediaType: undefined })).rejects.toMatchObject({
      error: "invalid_input",
      message: expect.stringContaining("is not text"),
    });
  }
});

it("decodes any bytes under any label into well-formed text, or refuses them by a typed error", () => {
  const label = fc.constantFrom(
    undefined,
    "utf-8",
    "utf-16le",
    "shift_jis",
    "gb18030",
    "iso-2022-jp",
    "x-user-defined",
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), label, fc.boolean(), (content, charset, markup) => {
      try {
        const mediaType = charset && `text/plain;charset=${charset}`;
        const decoded = decodeText(content, { mediaType, markup });
        expect(decoded.text.isWellFormed()).toBe(true);
        expect(decoded.text).not.toContain("\0");
        expect(decoded.charset).toBeTypeOf("string");
      } catch (error) {
        expect(ToolyardError.is(error) && error.error).toBe("invalid_input");
      }
    }),
  );
});
