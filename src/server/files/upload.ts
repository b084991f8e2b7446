import { ToolyardError } from "../../core/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import type { HttpLimits } from "../http-limits.ts";
import { type Reply, succeed } from "../reply.ts";
import type { RouteRequest } from "../route.ts";
import { readPath } from "./file-path.ts";
import { borrowFiles, readFlag, readFormat, tellTransfer, type Transfer } from "./transfer.ts";
import { UploadBody } from "./upload-body.ts";

const OPERATION = "files:upload";

/** Takes a file, or an archive to unpack: whole or not at all. */
export async function upload(engine: Engine, limits: HttpLimits, request: RouteRequest<unknown>): Promise<Reply> {
  const path = readPath(request.incoming.url ?? "");
  const extract = readFormat(request.query, "extract");
  const options = readOptions(request);
  const body = new UploadBody(request.incoming, limits);
  const transfer = await borrowFiles(engine, request);
  const { loan, files } = transfer;
  const tell = (error?: string) =>
    tellTransfer(engine, "file.uploaded", transfer, { path, bytes: body.bytes, archive: extract, error });
  try {
    const meta = { operation: OPERATION, resourceType: loan.record.resource, sessionId: loan.record.id };
    if (extract === undefined) {
      const { sizeBytes, created } = await files.write(path, body, options, loan.signal);
      tell();
      const reply = succeed(meta, { path, size_bytes: sizeBytes, created });
      return { ...reply, status: created ? 201 : 200 };
    }
    const bounds = { entries: limits.archiveEntries, totalBytes: limits.archiveBytes };
    const unpacked = await files.extract(path, body, { format: extract, limits: bounds }, loan.signal);
    tell();
    return succeed(meta, { path, entries: unpacked.entries, total_bytes: unpacked.totalBytes });
  } catch (error) {
    // What its own body failed with says more than what the sandbox made of that.
    const known = body.failure ?? error;
    tell(ToolyardError.is(known) ? known.error : "internal_error");
    throw known;
  } finally {
    loan.end();
  }
}

/** Removes what is at a path; answers whether there was something. */
export async function remove(
  engine: Engine,
  request: RouteRequest<unknown>,
  tell: (transfer: Transfer, path: string) => void,
): Promise<Reply> {
  const path = readPath(request.incoming.url ?? "");
  const recursive = readFlag(request.query, "recursive");
  const transfer = await borrowFiles(engine, request);
  const { loan, files } = transfer;
  try {
    const deleted = await files.remove(path, { recursive }, loan.signal);
    if (deleted) tell(transfer, path);
    const meta = { operation: "files:delete", resourceType: loan.record.resource, sessionId: loan.record.id };
    return succeed(meta, { path, deleted });
  } finally {
    loan.end();
  }
}

function readOptions({ query, incoming }: RouteRequest<unknown>): {
  readonly mode?: number;
  readonly exclusive: boolean;
} {
  const text = query.get("mode");
  if (text !== null && !/^0?[0-7]{3}$/.test(text)) {
    throw new ToolyardError("invalid_input", "mode takes three octal digits, such as 644");
  }
  const exclusive = readFlag(query, "exclusive") || incoming.headers["if-none-match"] === "*";
  return { exclusive, ...(text !== null && { mode: Number.parseInt(text, 8) }) };
}
