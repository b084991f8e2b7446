import { constants, inflateRawSync } from "node:zlib";
import { ToolyardError } from "../core/errors.ts";

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const END_BYTES = 22;
const MAX_COMMENT = 65_535;
const DEFLATED = 8;
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_ENTRIES = 10_000;

/**
 * Refuses an archive that would unpack to more than a document may, or that lies about how much that is: the libraries that
 * read office files believe what the archive says.
 *
 * @throws ToolyardError `limit_exceeded`, or `invalid_input` for what is no archive, or none whose parts are where it says.
 */
export function checkUnpackedSize(archive: Buffer, maxBytes: number = MAX_BYTES): void {
  let total = 0;
  let entries = 0;
  let at = findDirectory(archive);
  while (at + 46 <= archive.length && archive.readUInt32LE(at) === ENTRY) {
    const size = archive.readUInt32LE(at + 24);
    total += size;
    entries += 1;
    if (entries > MAX_ENTRIES) {
      throw new ToolyardError("limit_exceeded", `the document is an archive of more than ${MAX_ENTRIES} files`, {
        details: { limit: "archive_entries", max: MAX_ENTRIES },
      });
    }
    if (total > maxBytes) throw tooLarge(total, maxBytes);
    checkEntry(archive, at, size, maxBytes);
    at += 46 + archive.readUInt16LE(at + 28) + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
}

/** Where the list of the archive's files begins. */
function findDirectory(archive: Buffer): number {
  const earliest = Math.max(0, archive.length - END_BYTES - MAX_COMMENT);
  for (let at = archive.length - END_BYTES; at >= earliest; at -= 1) {
    if (archive.readUInt32LE(at) !== END) continue;
    const [length, start] = [archive.readUInt32LE(at + 12), archive.readUInt32LE(at + 16)];
    // What stands elsewhere than it says would be looked for elsewhere by every reader.
    if (start + length === at) return start;
    break;
  }
  throw new ToolyardError("invalid_input", "the document is no archive of a plain kind, as office files are");
}

/** Unpacks one file as far as it says that it goes. */
function checkEntry(archive: Buffer, at: number, size: number, maxBytes: number): void {
  const start = archive.readUInt32LE(at + 42);
  if (start + 30 > archive.length || archive.readUInt32LE(start) !== LOCAL) {
    throw new ToolyardError("invalid_input", "the document's archive has parts that are not where it says");
  }
  if (archive.readUInt16LE(at + 10) !== DEFLATED) return;
  const from = start + 30 + archive.readUInt16LE(start + 26) + archive.readUInt16LE(start + 28);
  const packed = archive.subarray(from, from + archive.readUInt32LE(at + 20));
  try {
    inflateRawSync(packed, { maxOutputLength: Math.max(1, size), finishFlush: constants.Z_SYNC_FLUSH });
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(size, maxBytes);
    throw new ToolyardError("invalid_input", "the document's archive is broken", { cause: error });
  }
}

function tooLarge(bytes: number, max: number): ToolyardError {
  return new ToolyardError(
    "limit_exceeded",
    `the document unpacks to more than it may, or than the ${bytes} bytes it says`,
    {
      details: { limit: "unpacked_bytes", max },
      suggestion: "Send its text.",
    },
  );
}
