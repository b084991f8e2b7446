import { z } from "zod";
import { ToolyardError } from "../../../core/errors.ts";
import type { SandboxFiles } from "../../../core/sandbox-files.ts";
import { type Input, tool } from "../../../core/tool.ts";
import { abilityOf } from "../desktop/desktop-ability.ts";
import type { VmContext } from "../session.ts";

const MAX_BYTES = 8 * 1024 * 1024;
const MAX_READ_BYTES = 4 * 1024 * 1024;
const Path = z.string().min(1).max(4_096).describe("Absolute, or relative to the desktop's home.");

const UploadParams = z.strictObject({
  path: Path,
  content: z.string().max(Math.ceil((MAX_BYTES * 4) / 3) + 4),
  encoding: z.enum(["base64", "utf-8"]).default("base64"),
  mode: z
    .string()
    .regex(/^0?[0-7]{3}$/)
    .transform((text) => Number.parseInt(text, 8))
    .optional()
    .describe("Permission bits in octal, as 0644."),
  append: z.boolean().default(false).describe("Adds to the end, for a file in several parts."),
});
const UploadResult = z.object({ path: z.string(), size_bytes: z.number(), created: z.boolean() });
const DownloadParams = z.strictObject({
  path: Path,
  offset: z.int().min(0).default(0),
  length: z.int().min(1).max(MAX_READ_BYTES).default(1_048_576),
});
const DownloadResult = z.object({
  path: z.string(),
  content: z.string().describe("Base64."),
  offset: z.number(),
  length: z.number(),
  size_bytes: z.number().describe("Of the whole file."),
  ended: z.boolean().describe("Whether this is its end."),
});
const ListParams = z.strictObject({
  path: Path.default("."),
  depth: z.int().min(1).max(64).default(1),
  limit: z.int().min(1).max(10_000).default(1_000),
});
const ListResult = z.object({
  entries: z.array(
    z.object({
      path: z.string(),
      kind: z.enum(["file", "directory", "symlink", "fifo", "socket", "device"]),
      size_bytes: z.number(),
      modified_at: z.string().describe("ISO 8601, UTC."),
    }),
  ),
  truncated: z.boolean().describe("There are more than the limit."),
});

/** Files of a session's desktop, in and out. Larger ones go over HTTP, past the model's context. */
export class FileTools {
  @tool({
    description: "Put a file into the desktop, whole or not at all, with the folders above it.",
    params: UploadParams,
    result: UploadResult,
    annotations: { title: "Upload a file", destructiveHint: true },
  })
  async uploadFile(params: Input<typeof UploadParams>, context: VmContext) {
    const { path, content, encoding, mode, append } = params;
    const bytes = encoding === "utf-8" ? Buffer.from(content, "utf8") : fromBase64(content);
    const options = { append, ...(mode === undefined ? {} : { mode }) };
    const { sizeBytes, created } = await filesOf(context).write(path, bytes, options, context.signal);
    return { path, size_bytes: sizeBytes, created };
  }

  @tool({
    description: "Read a stretch of a file of the desktop, as base64.",
    params: DownloadParams,
    result: DownloadResult,
    annotations: { title: "Download a file", readOnlyHint: true, idempotentHint: true },
  })
  async downloadFile({ path, offset, length }: Input<typeof DownloadParams>, context: VmContext) {
    const bytes = Buffer.from(await filesOf(context).read(path, { offset, length }, context.signal));
    const info = await filesOf(context).stat(path, context.signal);
    const end = offset + bytes.length;
    // What a link leads to is as large as what was read of it, at least.
    const size = Math.max(info?.kind === "file" ? info.sizeBytes : 0, end);
    const ended = bytes.length < length || end >= size;
    return { path, content: bytes.toString("base64"), offset, length: bytes.length, size_bytes: size, ended };
  }

  @tool({
    description: "List what is in a folder of the desktop, to a depth.",
    params: ListParams,
    result: ListResult,
    annotations: { title: "List files", readOnlyHint: true, idempotentHint: true },
  })
  async listFiles({ path, depth, limit }: Input<typeof ListParams>, context: VmContext) {
    const { entries, truncated } = await filesOf(context).list(path, { depth, limit }, context.signal);
    return {
      entries: entries.map((entry) => ({
        path: entry.path,
        kind: entry.kind,
        size_bytes: entry.sizeBytes,
        modified_at: new Date(entry.modifiedAt).toISOString(),
      })),
      truncated,
    };
  }
}

function filesOf({ session }: VmContext): SandboxFiles {
  return abilityOf(session.data.desktop.running, "files");
}

function fromBase64(content: string): Buffer {
  const bytes = Buffer.from(content, "base64");
  // Node skips what is no base64; half a file must not be written for it.
  if (bytes.toString("base64").replace(/=+$/, "") === content.replace(/\s+/g, "").replace(/=+$/, "")) return bytes;
  throw new ToolyardError("invalid_input", "content is not base64");
}
