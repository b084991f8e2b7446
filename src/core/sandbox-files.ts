/** What a path is; a symbolic link is told as such and not followed. */
export type FileKind = "file" | "directory" | "symlink" | "fifo" | "socket" | "device";

/** One file, folder or other thing at a path. */
export interface FileInfo {
  /** Absolute, as asked for. */
  readonly path: string;
  readonly kind: FileKind;
  readonly sizeBytes: number;
  /** Permission bits, as in `0o644`. */
  readonly mode: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
  readonly owner: number;
  readonly group: number;
  /** Where a symbolic link points. */
  readonly target?: string;
}

/** A line that a search found. */
export interface FileMatch {
  readonly path: string;
  /** 1-based. */
  readonly line: number;
  /** 1-based, in characters. */
  readonly column: number;
  readonly text: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** What a search may be narrowed by. */
export interface SearchOptions {
  readonly path: string;
  /** A regular expression as the sandbox's Python knows it, or a literal with `literal`. */
  readonly pattern: string;
  readonly literal?: boolean;
  readonly ignoreCase?: boolean;
  /** Only files whose path relative to `path` matches. */
  readonly glob?: string;
  readonly contextLines?: number;
  readonly limit: number;
}

/** A listing that may have been cut at its limit. */
export interface Listing<T> {
  readonly entries: readonly T[];
  readonly truncated: boolean;
}

/** A change under a watched path. */
export interface FileChange {
  readonly kind: "created" | "modified" | "deleted" | "moved";
  readonly path: string;
  /** Of a move: where it was. */
  readonly from?: string;
}

/** The formats that archives are packed and unpacked in. */
export type ArchiveFormat = "tar" | "tar.gz" | "zip";

/** What bounds the unpacking of an archive. */
export interface ArchiveLimits {
  readonly entries: number;
  readonly totalBytes: number;
}

/**
 * The files of a sandbox, touched by a process inside it, as the sandbox's own user: no path leads out of it. Relative
 * paths are under the sandbox's working folder.
 *
 * Every method throws ToolyardError: `path_not_found`; `path_exists`; `path_refused` for what is no path (NUL, over 4 KiB) or is of the
 * wrong kind; `path_forbidden` for one that the sandbox's user may not touch; `limit_exceeded` (details.limit) for a full disk or a
 * bound; `cancelled` when the signal fires; `sandbox_dead`.
 */
export interface SandboxFiles {
  /** `null` when there is nothing. */
  stat(path: string, signal: AbortSignal): Promise<FileInfo | null>;
  /** Reads a stretch of a regular file, at most 4 MiB; shorter at its end. Never blocks on a pipe or a device. */
  read(
    path: string,
    range: { readonly offset: number; readonly length: number },
    signal: AbortSignal,
  ): Promise<Uint8Array>;
  /** Writes whole or not at all, under a temporary name that then takes the path's place; makes missing folders. */
  write(
    path: string,
    content: AsyncIterable<Uint8Array> | Uint8Array,
    options: { readonly mode?: number; readonly append?: boolean; readonly exclusive?: boolean },
    signal: AbortSignal,
  ): Promise<{ readonly sizeBytes: number; readonly created: boolean }>;
  list(
    path: string,
    options: { readonly depth: number; readonly limit: number },
    signal: AbortSignal,
  ): Promise<Listing<FileInfo>>;
  glob(
    pattern: string,
    options: { readonly path: string; readonly limit: number },
    signal: AbortSignal,
  ): Promise<Listing<FileInfo>>;
  grep(options: SearchOptions, signal: AbortSignal): Promise<Listing<FileMatch>>;
  /** Makes the folder and those above it. */
  makeDirectory(path: string, signal: AbortSignal): Promise<void>;
  move(from: string, to: string, options: { readonly overwrite: boolean }, signal: AbortSignal): Promise<void>;
  copy(from: string, to: string, options: { readonly overwrite: boolean }, signal: AbortSignal): Promise<void>;
  /** Answers whether there was something. */
  remove(path: string, options: { readonly recursive: boolean }, signal: AbortSignal): Promise<boolean>;
  /** Tells changes until the signal fires. */
  watch(path: string, options: { readonly recursive: boolean }, signal: AbortSignal): AsyncIterable<FileChange>;
  /** Packs paths, named relative to `path`. */
  archive(
    path: string,
    options: { readonly format: ArchiveFormat; readonly names?: readonly string[] },
    signal: AbortSignal,
  ): AsyncIterable<Uint8Array>;
  /**
   * Unpacks under a folder: nothing outside it, no links that lead out, no devices, no set-id bits; all or nothing. With
   * `anyLinks`, for what `archive` packed in a sandbox, symbolic links may lead anywhere in it; nothing is written through them.
   */
  extract(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options: { readonly format: ArchiveFormat; readonly limits: ArchiveLimits; readonly anyLinks?: boolean },
    signal: AbortSignal,
  ): Promise<{ readonly entries: number; readonly totalBytes: number }>;
}
