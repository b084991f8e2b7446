import { ToolyardError } from "../../src/core/errors.ts";
import type { FileInfo, SandboxFiles } from "../../src/core/sandbox-files.ts";

interface Entry {
  readonly data: Uint8Array;
  readonly mode: number;
  readonly modifiedAt: number;
  readonly kind: FileInfo["kind"];
  readonly target?: string;
}

/** Files that are only as real as the HTTP door needs: the runtimes' own are tried by their conformance kit. */
export class MemoryFiles implements SandboxFiles {
  readonly entries = new Map<string, Entry>();
  /** Told each read, which waits for it. */
  onRead: (offset: number) => void | Promise<void> = () => undefined;
  /** What the last extract was given. */
  extracted: { readonly path: string; readonly bytes: number; readonly format: string } | undefined;

  /** Puts something there, past all rules. */
  put(path: string, data: string | Uint8Array, more: Partial<Entry> = {}): void {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    this.entries.set(absolute(path), {
      data: bytes,
      mode: 0o644,
      modifiedAt: 1_700_000_000_000,
      kind: "file",
      ...more,
    });
  }

  text(path: string): string | undefined {
    const entry = this.entries.get(absolute(path));
    return entry && new TextDecoder().decode(entry.data);
  }

  async stat(path: string): Promise<FileInfo | null> {
    const entry = this.entries.get(absolute(path));
    if (entry === undefined) return null;
    const { mode, modifiedAt, kind, target } = entry;
    const sizeBytes = entry.data.length;
    return { path, kind, sizeBytes, mode, modifiedAt, owner: 0, group: 0, ...(target !== undefined && { target }) };
  }

  async read(path: string, range: { readonly offset: number; readonly length: number }, signal: AbortSignal) {
    await this.onRead(range.offset);
    signal.throwIfAborted();
    const entry = this.entries.get(absolute(path));
    if (entry === undefined) throw new ToolyardError("path_not_found", path);
    return entry.data.subarray(range.offset, range.offset + range.length);
  }

  async write(
    path: string,
    content: AsyncIterable<Uint8Array> | Uint8Array,
    options: { readonly mode?: number; readonly exclusive?: boolean },
    signal: AbortSignal,
  ): Promise<{ readonly sizeBytes: number; readonly created: boolean }> {
    const created = !this.entries.has(absolute(path));
    if (options.exclusive === true && !created) throw new ToolyardError("path_exists", `${path} is there already`);
    const chunks: Uint8Array[] = [];
    if (content instanceof Uint8Array) chunks.push(content);
    else for await (const chunk of content) chunks.push(chunk);
    signal.throwIfAborted();
    this.put(path, Buffer.concat(chunks), { mode: options.mode ?? 0o644 });
    return { sizeBytes: Buffer.concat(chunks).length, created };
  }

  async remove(path: string): Promise<boolean> {
    return this.entries.delete(absolute(path));
  }

  async *archive(path: string, { format }: { readonly format: string }): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode(`${format} of ${path}`);
  }

  async extract(path: string, content: AsyncIterable<Uint8Array>, { format }: { readonly format: string }) {
    let bytes = 0;
    for await (const chunk of content) bytes += chunk.length;
    this.extracted = { path, bytes, format };
    return { entries: 1, totalBytes: bytes };
  }

  list = unused;
  glob = unused;
  grep = unused;
  makeDirectory = unused;
  move = unused;
  copy = unused;
  watch = (): never => {
    throw new Error("the HTTP door does not watch files");
  };
}

function unused(): Promise<never> {
  return Promise.reject(new Error("the HTTP door does not use it"));
}

function absolute(path: string): string {
  return path.startsWith("/") ? path : `/workspace/${path}`;
}
