import { ToolyardError } from "../../core/errors.ts";
import type { FileChange, FileInfo, SandboxFiles, SearchOptions } from "../../core/sandbox-files.ts";
import { ByteQueue } from "./byte-queue.ts";
import { type Fields, flag } from "./fields.ts";
import {
  parseExtracted,
  parseFileChanges,
  parseFileInfo,
  parseFileMatch,
  parseListing,
  parseWritten,
} from "./file-messages.ts";
import { type LiveOperation, WINDOW_BYTES } from "./live-operation.ts";
import type { Operations } from "./operations.ts";

const MAX_READ_BYTES = 4 * 1024 * 1024;
// Written by the worker that is there; a larger one gets a worker of its own, which others need not wait for.
const SMALL_BYTES = 256 * 1024;
const MAX_PATH_BYTES = 4096;
// Changes that wait for a reader who does not take them.
const MAX_WAITING_CHANGES = 10_000;

type Options<K extends keyof SandboxFiles> = Parameters<SandboxFiles[K]>;

/** The files of a supervised sandbox, touched by a child of its supervisor. */
export class SupervisedFiles implements SandboxFiles {
  readonly #operations: Operations;

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  stat(path: string, signal: AbortSignal): Promise<FileInfo | null> {
    return this.#run("stat", { path: checked(path) }, signal, (value) =>
      value === null ? null : parseFileInfo(value),
    );
  }

  async read(path: string, { offset, length }: Options<"read">[1], signal: AbortSignal): Promise<Uint8Array> {
    if (length === 0) return new Uint8Array();
    const window = Math.min(length, MAX_READ_BYTES);
    const chunks: Buffer[] = [];
    const args = { path: checked(path), offset, length: window };
    const onData = (data: Buffer) => chunks.push(data);
    await this.#operations.run("files.read", args, { signal, window, parse: () => {}, onData });
    return Buffer.concat(chunks);
  }

  async write(
    path: string,
    content: AsyncIterable<Uint8Array> | Uint8Array,
    options: Options<"write">[2],
    signal: AbortSignal,
  ): Promise<{ readonly sizeBytes: number; readonly created: boolean }> {
    const small = content instanceof Uint8Array && content.length <= SMALL_BYTES;
    const args = { path: checked(path), ...options, small };
    return this.#fed("files.write", args, content, signal, parseWritten);
  }

  list(path: string, options: Options<"list">[1], signal: AbortSignal): ReturnType<SandboxFiles["list"]> {
    const args = { path: checked(path), ...options, small: options.depth === 1 };
    return this.#run("list", args, signal, (value) => parseListing(value, parseFileInfo));
  }

  glob(pattern: string, { path, limit }: Options<"glob">[1], signal: AbortSignal): ReturnType<SandboxFiles["glob"]> {
    return this.#run("glob", { pattern, path: checked(path), limit }, signal, (value) =>
      parseListing(value, parseFileInfo),
    );
  }

  grep(options: SearchOptions, signal: AbortSignal): ReturnType<SandboxFiles["grep"]> {
    const { path, pattern, limit, literal = false, ignoreCase = false, glob, contextLines = 0 } = options;
    const args = {
      path: checked(path),
      pattern,
      limit,
      literal,
      ignore_case: ignoreCase,
      context_lines: contextLines,
      ...(glob === undefined ? {} : { glob }),
    };
    return this.#run("grep", args, signal, (value) => parseListing(value, parseFileMatch));
  }

  makeDirectory(path: string, signal: AbortSignal): Promise<void> {
    return this.#run("make_directory", { path: checked(path) }, signal, () => {});
  }

  move(from: string, to: string, { overwrite }: Options<"move">[2], signal: AbortSignal): Promise<void> {
    return this.#run("move", { source: checked(from), target: checked(to), overwrite }, signal, () => {});
  }

  copy(from: string, to: string, { overwrite }: Options<"copy">[2], signal: AbortSignal): Promise<void> {
    return this.#run("copy", { source: checked(from), target: checked(to), overwrite }, signal, () => {});
  }

  remove(path: string, { recursive }: Options<"remove">[1], signal: AbortSignal): Promise<boolean> {
    const args = { path: checked(path), recursive, small: !recursive };
    return this.#run("remove", args, signal, (value) => flag({ value }, "value"));
  }

  async *watch(path: string, { recursive }: Options<"watch">[1], signal: AbortSignal): AsyncGenerator<FileChange> {
    const stop = new AbortController();
    const waiting: FileChange[] = [];
    let wake = () => {};
    const onEvent = (value: unknown) => {
      if (stop.signal.aborted) return;
      waiting.push(...parseFileChanges(value));
      // Who reads so slowly has lost what it watches for.
      if (waiting.length > MAX_WAITING_CHANGES) stop.abort();
      wake();
    };
    const operation = this.#operations.begin(
      "files.watch",
      { path: checked(path), recursive },
      { signal: AbortSignal.any([signal, stop.signal]), parse: () => {}, onEvent },
    );
    let ended: { readonly error: unknown } | undefined;
    const end = (error: unknown) => {
      ended = { error };
      wake();
    };
    operation.result.then(() => end(undefined), end);
    try {
      for (;;) {
        yield* waiting.splice(0);
        if (stop.signal.aborted) throw tooManyChanges();
        // oxlint-disable-next-line no-unmodified-loop-condition
        if (ended !== undefined) {
          if (signal.aborted || ended.error === undefined) return;
          throw ended.error;
        }
        // One after another on purpose: this is how a reader waits.
        // oxlint-disable-next-line no-await-in-loop
        if (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      stop.abort();
    }
  }

  async *archive(path: string, options: Options<"archive">[1], signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const stop = new AbortController();
    const begun: { operation?: LiveOperation<void> } = {};
    const queue = new ByteQueue((count) => begun.operation?.grant(count));
    begun.operation = this.#operations.begin(
      "files.archive",
      { path: checked(path), ...options },
      {
        signal: AbortSignal.any([signal, stop.signal]),
        window: WINDOW_BYTES,
        parse: () => {},
        onData: (data) => queue.push(data),
      },
    );
    begun.operation.result.then(
      () => queue.end(),
      (error: unknown) => queue.end(error),
    );
    try {
      yield* queue.read();
    } finally {
      stop.abort();
    }
  }

  extract(
    path: string,
    content: AsyncIterable<Uint8Array>,
    { format, limits, anyLinks = false }: Options<"extract">[2],
    signal: AbortSignal,
  ): ReturnType<SandboxFiles["extract"]> {
    const { entries, totalBytes } = limits;
    const args = { path: checked(path), format, entries, total_bytes: totalBytes, any_links: anyLinks };
    return this.#fed("files.extract", args, content, signal, parseExtracted);
  }

  async #run<T>(op: string, args: Fields, signal: AbortSignal, parse: (value: unknown) => T): Promise<T> {
    return this.#operations.run(`files.${op}`, args, { signal, parse });
  }

  /** Runs an operation that takes bytes; a content that fails ends it, and nothing of it is left. */
  async #fed<T>(
    op: string,
    args: Fields,
    content: AsyncIterable<Uint8Array> | Uint8Array,
    signal: AbortSignal,
    parse: (value: unknown) => T,
  ): Promise<T> {
    const operation = this.#operations.begin<T>(op, args, { signal, parse });
    if (content instanceof Uint8Array) {
      const written = operation.write(content);
      if (content.length <= SMALL_BYTES) operation.fin();
      else void written.then(() => operation.fin());
      return operation.result;
    }
    try {
      for await (const chunk of content) {
        await operation.write(chunk);
        if (operation.ended) break;
      }
    } catch (error) {
      operation.stop();
      await operation.result.catch(() => {});
      throw error;
    }
    operation.fin();
    return operation.result;
  }
}

function checked(path: string): string {
  if (path !== "" && !path.includes("\0") && Buffer.byteLength(path) <= MAX_PATH_BYTES) return path;
  throw new ToolyardError("path_refused", `a path has 1 to ${MAX_PATH_BYTES} bytes, none of them NUL`);
}

function tooManyChanges(): ToolyardError {
  return new ToolyardError("limit_exceeded", "more has changed than was read", { details: { limit: "changes" } });
}
