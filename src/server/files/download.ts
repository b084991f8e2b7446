import { ToolyardError } from "../../core/errors.ts";
import type { ArchiveFormat, FileInfo } from "../../core/sandbox-files.ts";
import type { Engine } from "../../engine/engine.ts";
import type { HttpLimits } from "../http-limits.ts";
import type { Reply } from "../reply.ts";
import type { RouteRequest } from "../route.ts";
import { parseRange } from "./byte-range.ts";
import { readStretch, toBody } from "./download-body.ts";
import { baseName, toContentType, toDisposition, toEtag, UNTRUSTED } from "./file-headers.ts";
import { readPath } from "./file-path.ts";
import { borrowFiles, follow, readFlag, readFormat, tellTransfer, type Transfer } from "./transfer.ts";

const ARCHIVE_TYPES = { tar: "application/x-tar", "tar.gz": "application/gzip", zip: "application/zip" } as const;

/** Answers with a file, a stretch of one, or a folder as an archive; `leave` is called when its body is over. */
export async function download(
  engine: Engine,
  limits: HttpLimits,
  request: RouteRequest<unknown>,
  leave: () => void,
): Promise<Reply> {
  const path = readPath(request.incoming.url ?? "");
  const format = readFormat(request.query, "format");
  const transfer = await borrowFiles(engine, request);
  const end = () => {
    transfer.loan.end();
    leave();
  };
  try {
    const info = await follow(transfer, path);
    const part = format === undefined ? toFilePart(request, info, path) : toArchivePart(transfer, info, path, format);
    if (part.chunks === undefined || request.incoming.method === "HEAD") {
      end();
      return { status: part.status, body: null, headers: part.headers, stream: emptyStream() };
    }
    const { outgoing } = request;
    const stream = toBody(part.chunks(transfer), {
      clock: engine.clock,
      outgoing,
      stallMs: limits.transferStallMs,
      signal: transfer.loan.signal,
      onEnd: (bytes, error) => {
        tellTransfer(engine, "file.downloaded", transfer, { path, bytes, archive: format, error: error?.error });
        end();
      },
    });
    return { status: part.status, body: null, headers: part.headers, stream };
  } catch (error) {
    end();
    throw error;
  }
}

interface Part {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks?: (transfer: Transfer) => AsyncIterator<Uint8Array>;
}

function toFilePart({ incoming, query }: RouteRequest<unknown>, info: FileInfo, path: string): Part {
  if (info.kind === "directory") {
    throw new ToolyardError("path_refused", `${path} is a folder`, {
      suggestion: "Add format=tar.gz or format=zip for all that is in it.",
    });
  }
  if (info.kind !== "file") throw new ToolyardError("path_refused", `${path} is a ${info.kind}, not a file`);
  const etag = toEtag(info);
  const { headers } = incoming;
  const common = {
    ...UNTRUSTED,
    etag,
    "last-modified": new Date(info.modifiedAt).toUTCString(),
    "accept-ranges": "bytes",
  };
  if (matches(headers["if-none-match"], etag)) return { status: 304, headers: common };
  const condition = headers["if-range"];
  const range = condition === undefined || condition === etag ? parseRange(headers.range, info.sizeBytes) : undefined;
  if (range === "unsatisfiable") {
    return { status: 416, headers: { ...common, "content-range": `bytes */${info.sizeBytes}`, "content-length": "0" } };
  }
  const { start, length } = range ?? { start: 0, length: info.sizeBytes };
  return {
    status: range === undefined ? 200 : 206,
    headers: {
      ...common,
      "content-type": toContentType(path),
      "content-disposition": toDisposition(baseName(path), readFlag(query, "inline") ? "inline" : "attachment"),
      "content-length": `${length}`,
      ...(range !== undefined && { "content-range": `bytes ${start}-${start + length - 1}/${info.sizeBytes}` }),
    },
    chunks: ({ files, loan }) => readStretch(files, info.path, { start, length }, loan.signal),
  };
}

function toArchivePart({ files, loan }: Transfer, info: FileInfo, path: string, format: ArchiveFormat): Part {
  if (info.kind !== "directory") throw new ToolyardError("path_refused", `${path} is a ${info.kind}, not a folder`);
  return {
    status: 200,
    headers: {
      ...UNTRUSTED,
      "content-type": ARCHIVE_TYPES[format],
      "content-disposition": toDisposition(`${baseName(path)}.${format}`, "attachment"),
      "transfer-encoding": "chunked",
    },
    chunks: () => files.archive(info.path, { format }, loan.signal)[Symbol.asyncIterator](),
  };
}

/** Weak or strong: for a second look both will do. */
function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((one) => ["*", etag].includes(one.trim().replace(/^W\//, "")));
}

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}
