import { crc32, deflateRawSync } from "node:zlib";

/** Packs files into a zip archive, compressed when asked to; `claimedSize` lets one lie about how large they are. */
export function zipArchive(files: Readonly<Record<string, string>>, claimedSize?: number, compressed = false): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const content = Buffer.from(text);
    const packed = compressed ? deflateRawSync(content) : content;
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt32LE(crc32(content), 10);
    facts.writeUInt16LE(compressed ? 8 : 0, 4);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(claimedSize ?? content.length, 18);
    facts.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), facts, Buffer.from(name), packed]);
    const made = Buffer.concat([
      Buffer.from("PK\x01\x02\x14\x00", "latin1"),
      facts,
      Buffer.alloc(14),
      Buffer.from(name),
    ]);
    made.writeUInt32LE(offset, 42);
    directory.push(made);
    parts.push(local);
    offset += local.length;
  }
  const size = directory.reduce((sum, entry) => sum + entry.length, 0);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, ...directory, end]);
}
