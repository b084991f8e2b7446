import { ToolyardError } from "../core/errors.ts";

const ENTRY = Buffer.from("PK\x01\x02", "latin1");
const SIZE_AT = 24;
const MAX_BYTES = 256 * 1024 * 1024;

/** Refuses an archive whose files say they are larger together than what a document may unpack to. @throws ToolyardError `limit_exceeded` */
export function checkUnpackedSize(archive: Buffer): void {
  let total = 0;
  for (
    let at = archive.indexOf(ENTRY);
    at !== -1 && at + SIZE_AT + 4 <= archive.length;
    at = archive.indexOf(ENTRY, at + 4)
  ) {
    total += archive.readUInt32LE(at + SIZE_AT);
  }
  if (total <= MAX_BYTES) return;
  throw new ToolyardError("limit_exceeded", `the document unpacks to ${total} bytes`, {
    details: { limit: "unpacked_bytes", max: MAX_BYTES },
    suggestion: "Send its text.",
  });
}
