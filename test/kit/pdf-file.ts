import { deflateSync } from "node:zlib";

/** A PDF of some objects, the first of which is its catalogue. */
export function pdfOf(objects: readonly (string | Buffer)[], trailer = ""): Buffer {
  const parts: Buffer[] = [Buffer.from("%PDF-1.5\n", "latin1")];
  let length = parts[0]?.length ?? 0;
  const add = (part: string | Buffer) => {
    const bytes = Buffer.isBuffer(part) ? part : Buffer.from(part, "latin1");
    parts.push(bytes);
    length += bytes.length;
  };
  const offsets = objects.map((object, index) => {
    const offset = length;
    add(`${index + 1} 0 obj\n`);
    add(object);
    add("\nendobj\n");
    return offset;
  });
  const start = length;
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  add(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`);
  add(`trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${start}\n%%EOF`);
  return Buffer.concat(parts);
}

/** A stream of bytes with what its dictionary says beside their length. */
export function pdfStream(dictionary: string, bytes: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`<< ${dictionary} /Length ${bytes.length} >>\nstream\n`, "latin1"),
    bytes,
    Buffer.from("\nendstream"),
  ]);
}

/** A picture of a PDF; `bits` is 1 for black and white, 8 for colours. */
export interface PdfPicture {
  readonly width: number;
  readonly height: number;
  readonly bits: 1 | 8;
  readonly pixels: Buffer;
}

/** A page by the operators that draw it; they name pictures `/I0`, `/I1` … and the font `/F`. */
export interface PdfDrawing {
  readonly pages: readonly string[];
  readonly pictures?: readonly PdfPicture[];
  readonly title?: string;
  /** The bookmark of each page. */
  readonly bookmarks?: readonly string[];
}

/** A PDF as a printer would make it. */
export function drawPdf({ pages, pictures = [], title = "", bookmarks = [] }: PdfDrawing): Buffer {
  const [firstPicture, firstPage] = [5, 5 + pictures.length];
  const firstMark = firstPage + pages.length * 2;
  const resources = `<< /Font << /F 3 0 R >> /XObject << ${pictures.map((_, index) => `/I${index} ${firstPicture + index} 0 R`).join(" ")} >> >>`;
  const outline = bookmarks.length === 0 ? "" : `/Outlines ${firstMark} 0 R`;
  const kids = pages.map((_, index) => `${firstPage + index * 2} 0 R`).join(" ");
  const objects: (string | Buffer)[] = [
    `<< /Type /Catalog /Pages 2 0 R ${outline} >>`,
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    `<< /Title (${title}) >>`,
    ...pictures.map(({ width, height, bits, pixels }) => {
      const space = bits === 1 ? "/DeviceGray" : "/DeviceRGB";
      const dictionary = `/Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace ${space} /BitsPerComponent ${bits} /Filter /FlateDecode`;
      return pdfStream(dictionary, deflateSync(pixels));
    }),
    ...pages.flatMap((content, index) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources ${resources} /Contents ${firstPage + index * 2 + 1} 0 R >>`,
      pdfStream("/Filter /FlateDecode", deflateSync(Buffer.from(content, "latin1"))),
    ]),
  ];
  if (bookmarks.length > 0) {
    const last = firstMark + bookmarks.length;
    objects.push(`<< /First ${firstMark + 1} 0 R /Last ${last} 0 R /Count ${bookmarks.length} >>`);
    for (const [index, name] of bookmarks.entries()) {
      const next = index + 1 < bookmarks.length ? `/Next ${firstMark + 2 + index} 0 R` : "";
      const destination = `[${firstPage + index * 2} 0 R /Fit]`;
      objects.push(`<< /Title (${name}) /Parent ${firstMark} 0 R /Dest ${destination} ${next} >>`);
    }
  }
  return pdfOf(objects, "/Info 4 0 R");
}

/** Writes a line at a place, in 10 points unless it says more. */
export function line(x: number, y: number, text: string, size = 10): string {
  return `BT /F ${size} Tf ${x} ${y} Td (${text.replace(/[()\\]/g, "\\$&")}) Tj ET\n`;
}
