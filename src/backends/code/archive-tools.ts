import { ToolyardError } from "../../core/errors.ts";
import type { ArchiveFormat } from "../../core/sandbox-files.ts";
import { type Input, tool } from "../../core/tool.ts";
import { contentOf } from "./file-content.ts";
import { ArchiveParams, ArchiveResult, ExtractParams, ExtractResult } from "./file-schemas.ts";
import type { CodeContext } from "./session.ts";

/** `file:archive` and `file:extract`, between files of the sandbox. */
export class ArchiveTools {
  @tool({
    name: "file:archive",
    description: "Pack a folder of the sandbox, or some of what is in it, into an archive in the sandbox.",
    params: ArchiveParams,
    result: ArchiveResult,
    annotations: { title: "Pack an archive", destructiveHint: true },
  })
  async archive(params: Input<typeof ArchiveParams>, { session, signal }: CodeContext): Promise<ArchiveResult> {
    const { path, names, to } = params;
    const format = params.format ?? formatOf(to);
    const { files } = session.data.sandboxes.able("files");
    const packed = files.archive(path, { format, ...(names === undefined ? {} : { names }) }, signal);
    const { sizeBytes } = await files.write(to, packed, {}, signal);
    return { path: to, format, size_bytes: sizeBytes };
  }

  @tool({
    name: "file:extract",
    description:
      "Unpack an archive of the sandbox into a folder, all or nothing; entries that lead out of the folder are refused.",
    params: ExtractParams,
    result: ExtractResult,
    annotations: { title: "Unpack an archive", destructiveHint: true },
  })
  async extract(params: Input<typeof ExtractParams>, { session, signal }: CodeContext): Promise<ExtractResult> {
    const { path, to, max_entries: entries, max_bytes: totalBytes } = params;
    const format = params.format ?? formatOf(path);
    const { files } = session.data.sandboxes.able("files");
    const content = contentOf(files, path, signal);
    const done = await files.extract(to, content, { format, limits: { entries, totalBytes } }, signal);
    return { path: to, entries: done.entries, total_bytes: done.totalBytes };
  }
}

function formatOf(path: string): ArchiveFormat {
  if (/\.(tar\.gz|tgz)$/i.test(path)) return "tar.gz";
  if (/\.tar$/i.test(path)) return "tar";
  if (/\.zip$/i.test(path)) return "zip";
  throw new ToolyardError("invalid_input", `the format of ${path} cannot be told by its name: give format`);
}
