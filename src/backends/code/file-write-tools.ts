import { ToolyardError } from "../../core/errors.ts";
import { type Input, tool } from "../../core/tool.ts";
import { editText } from "./edit-text.ts";
import { resolveFile } from "./file-paths.ts";
import {
  DeleteParams,
  DeleteResult,
  EditParams,
  EditResult,
  MkdirResult,
  PathParams,
  TransferParams,
  TransferResult,
  WriteParams,
  WriteResult,
} from "./file-schemas.ts";
import { readWholeText } from "./read-file.ts";
import type { CodeContext, CodeSession } from "./session.ts";
import { Turn } from "./turn.ts";

/** `file:*` that change something. */
export class FileWriteTools {
  @tool({
    name: "file:write",
    description: "Write a file of the sandbox, whole or not at all, and the folders above it where they are missing.",
    params: WriteParams,
    result: WriteResult,
    annotations: { title: "Write a file", destructiveHint: true },
  })
  async write(params: Input<typeof WriteParams>, { session, signal }: CodeContext): Promise<WriteResult> {
    const { path, content, encoding, mode, append, create_only: exclusive } = params;
    const bytes = encoding === "utf-8" ? Buffer.from(content, "utf8") : fromBase64(content);
    const { files } = session.data.sandboxes.able("files");
    const options = { append, exclusive, ...(mode === undefined ? {} : { mode }) };
    const { sizeBytes, created } = await files.write(path, bytes, options, signal);
    return { path, size_bytes: sizeBytes, created };
  }

  @tool({
    name: "file:edit",
    description:
      "Replace a text in a file of the sandbox, which must be in it exactly once unless replace_all is set; otherwise " +
      "nothing changes and the error shows the nearest place.",
    params: EditParams,
    result: EditResult,
    annotations: { title: "Edit a file", destructiveHint: true },
  })
  async edit(params: Input<typeof EditParams>, { session, signal }: CodeContext): Promise<EditResult> {
    const { old_string: oldString, new_string: newString, replace_all: replaceAll } = params;
    if (oldString === newString) {
      throw new ToolyardError("invalid_input", "old_string and new_string are the same: nothing would change");
    }
    const { files } = session.data.sandboxes.able("files");
    const { path, mode } = await resolveFile(files, params.path, signal);
    return inTurn(session.data, path, signal, async () => {
      const before = await readWholeText(files, path, signal);
      const edited = editText(before, { path: params.path, oldString, newString, replaceAll });
      const { sizeBytes } = await files.write(path, Buffer.from(edited.text, "utf8"), { mode }, signal);
      return {
        path: params.path,
        replacements: edited.replacements,
        first_line: edited.firstLine,
        size_bytes: sizeBytes,
        snippet: edited.snippet,
      };
    });
  }

  @tool({
    name: "file:mkdir",
    description: "Make a folder of the sandbox, and those above it.",
    params: PathParams,
    result: MkdirResult,
    annotations: { title: "Make a folder", destructiveHint: false, idempotentHint: true },
  })
  async mkdir({ path }: Input<typeof PathParams>, { session, signal }: CodeContext): Promise<MkdirResult> {
    await session.data.sandboxes.able("files").files.makeDirectory(path, signal);
    return { path };
  }

  @tool({
    name: "file:move",
    description: "Move or rename a file or folder of the sandbox.",
    params: TransferParams,
    result: TransferResult,
    annotations: { title: "Move a file", destructiveHint: true },
  })
  async move(
    { from, to, overwrite }: Input<typeof TransferParams>,
    { session, signal }: CodeContext,
  ): Promise<TransferResult> {
    await session.data.sandboxes.able("files").files.move(from, to, { overwrite }, signal);
    return { from, to };
  }

  @tool({
    name: "file:copy",
    description: "Copy a file of the sandbox, or a folder with what is in it.",
    params: TransferParams,
    result: TransferResult,
    annotations: { title: "Copy a file", destructiveHint: true },
  })
  async copy(
    { from, to, overwrite }: Input<typeof TransferParams>,
    { session, signal }: CodeContext,
  ): Promise<TransferResult> {
    await session.data.sandboxes.able("files").files.copy(from, to, { overwrite }, signal);
    return { from, to };
  }

  @tool({
    name: "file:delete",
    description: "Delete a file of the sandbox, or with recursive a folder; says whether there was something.",
    params: DeleteParams,
    result: DeleteResult,
    annotations: { title: "Delete a file", destructiveHint: true, idempotentHint: true },
  })
  async delete(
    { path, recursive }: Input<typeof DeleteParams>,
    { session, signal }: CodeContext,
  ): Promise<DeleteResult> {
    const deleted = await session.data.sandboxes.able("files").files.remove(path, { recursive }, signal);
    return { path, deleted };
  }
}

/** Lets edits of one file follow one another, so that none is lost. */
async function inTurn<T>(
  { edits }: CodeSession,
  path: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const turn = edits.get(path) ?? new Turn();
  edits.set(path, turn);
  try {
    return await turn.run(signal, work);
  } finally {
    if (!turn.busy) edits.delete(path);
  }
}

function fromBase64(content: string): Buffer {
  const bytes = Buffer.from(content, "base64");
  // Node skips what is no base64; half a file must not be written for it.
  if (bytes.toString("base64").replace(/=+$/, "") === content.replace(/\s+/g, "").replace(/=+$/, "")) return bytes;
  throw new ToolyardError("invalid_input", "content is not base64");
}
