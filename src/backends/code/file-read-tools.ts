import { posix } from "node:path";
import { type Input, tool } from "../../core/tool.ts";
import {
  EntriesResult,
  GlobParams,
  GrepParams,
  GrepResult,
  ListParams,
  PathParams,
  ReadParams,
  ReadResult,
  StatResult,
  toFileEntry,
  WatchParams,
  WatchResult,
} from "./file-schemas.ts";
import { readFile } from "./read-file.ts";
import type { CodeContext } from "./session.ts";
import { watchFiles } from "./watch-files.ts";

const LOOKS = { readOnlyHint: true, idempotentHint: true } as const;

/** `file:*` that only look. */
export class FileReadTools {
  @tool({
    name: "file:read",
    description:
      "Read a file of the sandbox, whole or by lines or bytes. Answers text as it is, anything else as base64, and says " +
      "the size of the whole and whether something was left out.",
    params: ReadParams,
    result: ReadResult,
    annotations: { title: "Read a file", ...LOOKS },
  })
  read(params: Input<typeof ReadParams>, { session, signal }: CodeContext): Promise<ReadResult> {
    return readFile(session.data.sandboxes.able("files").files, params, signal);
  }

  @tool({
    name: "file:list",
    description: "List what is in a folder of the sandbox, to a depth.",
    params: ListParams,
    result: EntriesResult,
    annotations: { title: "List a folder", ...LOOKS },
  })
  async list(
    { path, depth, limit }: Input<typeof ListParams>,
    { session, signal }: CodeContext,
  ): Promise<EntriesResult> {
    const { files } = session.data.sandboxes.able("files");
    const { entries, truncated } = await files.list(path, { depth, limit }, signal);
    return { entries: entries.map(toFileEntry), truncated };
  }

  @tool({
    name: "file:glob",
    description: "Find files of the sandbox by a pattern of their path, as `**/*.py`.",
    params: GlobParams,
    result: EntriesResult,
    annotations: { title: "Find files", ...LOOKS },
  })
  async glob(
    { pattern, path, limit }: Input<typeof GlobParams>,
    { session, signal }: CodeContext,
  ): Promise<EntriesResult> {
    const { files } = session.data.sandboxes.able("files");
    const { entries, truncated } = await files.glob(pattern, { path, limit }, signal);
    return { entries: entries.map(toFileEntry), truncated };
  }

  @tool({
    name: "file:grep",
    description: "Find lines in the files of the sandbox by a regular expression or a plain text.",
    params: GrepParams,
    result: GrepResult,
    annotations: { title: "Search in files", ...LOOKS },
  })
  async grep(params: Input<typeof GrepParams>, { session, signal }: CodeContext): Promise<GrepResult> {
    const { pattern, path, literal, ignore_case: ignoreCase, glob, context_lines: contextLines, limit } = params;
    const { files } = session.data.sandboxes.able("files");
    const { entries, truncated } = await files.grep(
      {
        pattern,
        path,
        literal,
        ignoreCase,
        contextLines,
        limit,
        ...(glob === undefined ? {} : { glob: anywhere(glob) }),
      },
      signal,
    );
    return { matches: entries.map((match) => ({ ...match, path: posix.normalize(match.path) })), truncated };
  }

  @tool({
    name: "file:stat",
    description: "Say what is at a path of the sandbox; a symbolic link is told as such.",
    params: PathParams,
    result: StatResult,
    annotations: { title: "Look at a path", ...LOOKS },
  })
  async stat({ path }: Input<typeof PathParams>, { session, signal }: CodeContext): Promise<StatResult> {
    const info = await session.data.sandboxes.able("files").files.stat(path, signal);
    return { entry: info === null ? null : toFileEntry(info) };
  }

  @tool({
    name: "file:watch",
    description:
      "Watch a path of the sandbox for a while: each change is told as progress, and all of them at the end.",
    params: WatchParams,
    result: WatchResult,
    annotations: { title: "Watch files", ...LOOKS },
  })
  watch(params: Input<typeof WatchParams>, context: CodeContext): Promise<WatchResult> {
    return watchFiles(context.session.data.sandboxes.able("files").files, params, context);
  }
}

/** A pattern of a name alone means it in every folder, as those who search know it from other tools. */
function anywhere(glob: string): string {
  return glob.includes("/") ? glob : `**/${glob}`;
}
