import { randomBytes } from "node:crypto";
import { z } from "zod";
import { ToolyardError } from "../../../core/errors.ts";
import type { FileInfo, FileKind, Listing, SandboxFiles } from "../../../core/sandbox-files.ts";
import type { CommandResult } from "../../../core/sandbox-process.ts";
import type { GuestAgent } from "./guest-agent.ts";
import type { GuestCommands } from "./guest-commands.ts";

const MAX_READ_BYTES = 4 * 1024 * 1024;
/** Of one message to the agent. */
const CHUNK_BYTES = 1024 * 1024;
const MAX_PATH_BYTES = 4_096;

/** How our scripts say what is the matter; numbers that shells and programs do not use themselves. */
const REASONS = { 71: "path_not_found", 72: "path_exists", 73: "path_refused", 74: "path_forbidden" } as const;
const STAT = "stat -c \"$(printf '\\001')%f %s %Y %u %g %n\"";
const READABLE = '[ -e "$1" ] || exit 71; [ -f "$1" ] || exit 73; [ -r "$1" ] || exit 74';
const STAT_ONE = `[ -e "$1" ] || [ -L "$1" ] || exit 71; ${STAT} -- "$1" || exit 74; if [ -L "$1" ]; then readlink -- "$1"; fi`;
const LIST = `[ -e "$1" ] || exit 71; [ -d "$1" ] || exit 73; [ -r "$1" ] || exit 74
find "$1" -mindepth 1 -maxdepth "$2" -exec ${STAT} -- {} +`;
const REMOVE = `[ -e "$1" ] || [ -L "$1" ] || exit 71
if [ "$2" = yes ]; then rm -rf -- "$1" || exit 74
elif [ -d "$1" ] && [ ! -L "$1" ]; then rmdir -- "$1" || exit 73
else rm -f -- "$1" || exit 74; fi`;
const MOVE_OR_COPY = `[ -e "$1" ] || [ -L "$1" ] || exit 71
if [ "$3" = no ] && { [ -e "$2" ] || [ -L "$2" ]; }; then exit 72; fi
mkdir -p -- "$(dirname -- "$2")" || exit 74`;
/** $1 the staged content, $2 the path, $3 its mode, $4 how. Whole or not at all: only a rename shows it under its name. */
const PLACE = `if [ -d "$2" ]; then exit 73; fi
folder=$(dirname -- "$2"); mkdir -p -- "$folder" || exit 74
if [ -e "$2" ]; then echo replaced; fi
if [ "$4" = append ]; then cat -- "$1" >>"$2" || exit 74; exit 0; fi
if [ "$4" = exclusive ] && { [ -e "$2" ] || [ -L "$2" ]; }; then exit 72; fi
temporary="$folder/.toolyard.\${1##*.}"
cat -- "$1" >"$temporary" && chmod "$3" "$temporary" || { rm -f "$temporary"; exit 74; }
if [ "$4" = exclusive ]; then
  ln -T -- "$temporary" "$2" 2>/dev/null || ln -- "$temporary" "$2" || { rm -f "$temporary"; exit 72; }
  rm -f "$temporary"
else mv -f -- "$temporary" "$2" || { rm -f "$temporary"; exit 74; }; fi`;

const Handle = z.int();
const ReadBack = z.object({ count: z.int(), "buf-b64": z.string(), eof: z.boolean() });

/**
 * The files of a guest, by its agent: content by `guest-file-*`, all else by small scripts that any POSIX shell with `stat` runs.
 * It neither searches nor watches nor packs: commands do.
 */
export class GuestFiles implements SandboxFiles {
  readonly #agent: () => GuestAgent;
  readonly #commands: GuestCommands;
  readonly #cwd: string;

  /** @param cwd what relative paths are under. */
  constructor(agent: () => GuestAgent, commands: GuestCommands, cwd: string) {
    this.#agent = agent;
    this.#commands = commands;
    this.#cwd = cwd;
  }

  async stat(path: string, signal: AbortSignal): Promise<FileInfo | null> {
    const absolute = this.#resolve(path);
    const result = await this.#commands.userScript(STAT_ONE, [absolute], signal);
    if (result.exitCode === 71) return null;
    assertDone(result, path);
    const [first, target] = splitLink(result.stdout.text, absolute);
    const [info] = parseStats(first);
    if (info === undefined) throw new ToolyardError("dependency_failed", `the guest's stat cannot be read for ${path}`);
    return { ...info, path: absolute, ...(target !== undefined && { target }) };
  }

  async read(
    path: string,
    { offset, length }: { readonly offset: number; readonly length: number },
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const absolute = this.#resolve(path);
    // The agent would wait for a pipe's other end, and everybody else for the agent.
    assertDone(await this.#commands.userScript(READABLE, [absolute], signal), path);
    return this.#withFile(absolute, "r", signal, async (handle) => {
      await this.#agent().execute("guest-file-seek", { handle, offset, whence: 0 }, signal);
      const parts: Buffer[] = [];
      let missing = Math.min(length, MAX_READ_BYTES);
      while (missing > 0) {
        const count = Math.min(missing, CHUNK_BYTES);
        // oxlint-disable-next-line no-await-in-loop -- one stretch after another
        const answer = ReadBack.parse(await this.#agent().execute("guest-file-read", { handle, count }, signal));
        const part = Buffer.from(answer["buf-b64"], "base64").subarray(0, count);
        parts.push(part);
        missing -= part.length;
        if (answer.eof || part.length === 0) break;
      }
      return Buffer.concat(parts);
    });
  }

  async write(
    path: string,
    content: AsyncIterable<Uint8Array> | Uint8Array,
    options: { readonly mode?: number; readonly append?: boolean; readonly exclusive?: boolean },
    signal: AbortSignal,
  ): Promise<{ readonly sizeBytes: number; readonly created: boolean }> {
    const absolute = this.#resolve(path);
    const staged = `/tmp/.toolyard.${randomBytes(8).toString("hex")}`;
    try {
      const sizeBytes = await this.#withFile(staged, "w", signal, (handle) => this.#fill(handle, content, signal));
      // The agent's files are its own user's only.
      assertDone(await this.#commands.script('chmod 644 -- "$1"', [staged], signal), staged);
      const how = options.append === true ? "append" : options.exclusive === true ? "exclusive" : "replace";
      const mode = (options.mode ?? 0o644).toString(8);
      const placed = await this.#commands.userScript(PLACE, [staged, absolute, mode, how], signal);
      assertDone(placed, path);
      return { sizeBytes, created: !placed.stdout.text.startsWith("replaced") };
    } finally {
      await this.#commands.script('rm -f -- "$1"', [staged], signal).catch(() => {});
    }
  }

  async list(
    path: string,
    { depth, limit }: { readonly depth: number; readonly limit: number },
    signal: AbortSignal,
  ): Promise<Listing<FileInfo>> {
    const result = await this.#commands.userScript(LIST, [this.#resolve(path), String(depth)], signal);
    assertDone(result, path);
    const all = parseStats(result.stdout.text).toSorted((a, b) => (a.path < b.path ? -1 : 1));
    return { entries: all.slice(0, limit), truncated: result.stdout.truncated || all.length > limit };
  }

  async makeDirectory(path: string, signal: AbortSignal): Promise<void> {
    const script = '[ -d "$1" ] && exit 0; [ -e "$1" ] && exit 72; mkdir -p -- "$1" || exit 74';
    assertDone(await this.#commands.userScript(script, [this.#resolve(path)], signal), path);
  }

  async move(from: string, to: string, { overwrite }: { readonly overwrite: boolean }, signal: AbortSignal) {
    const args = [this.#resolve(from), this.#resolve(to), overwrite ? "yes" : "no"];
    const script = `${MOVE_OR_COPY}\nif [ -d "$2" ]; then rm -rf -- "$2"; fi; mv -f -- "$1" "$2" || exit 74`;
    assertDone(await this.#commands.userScript(script, args, signal), from);
  }

  async copy(from: string, to: string, { overwrite }: { readonly overwrite: boolean }, signal: AbortSignal) {
    const args = [this.#resolve(from), this.#resolve(to), overwrite ? "yes" : "no"];
    const script = `${MOVE_OR_COPY}\nif [ -d "$2" ]; then rm -rf -- "$2"; fi; cp -a -- "$1" "$2" || exit 74`;
    assertDone(await this.#commands.userScript(script, args, signal), from);
  }

  async remove(path: string, { recursive }: { readonly recursive: boolean }, signal: AbortSignal): Promise<boolean> {
    const result = await this.#commands.userScript(REMOVE, [this.#resolve(path), recursive ? "yes" : "no"], signal);
    if (result.exitCode === 71) return false;
    assertDone(result, path);
    return true;
  }

  glob(): Promise<never> {
    return Promise.reject(toUnable("search for names"));
  }

  grep(): Promise<never> {
    return Promise.reject(toUnable("search in files"));
  }

  watch(): AsyncIterable<never> {
    return toUnableStream("watch files");
  }

  archive(): AsyncIterable<never> {
    return toUnableStream("pack archives");
  }

  extract(): Promise<never> {
    return Promise.reject(toUnable("unpack archives"));
  }

  #resolve(path: string): string {
    const wrong = path === "" || path.includes("\0") || Buffer.byteLength(path) > MAX_PATH_BYTES;
    if (wrong) throw new ToolyardError("path_refused", "this is no path: it is empty, too long or has a NUL");
    return path.startsWith("/") ? path : `${this.#cwd.replace(/\/$/, "")}/${path}`;
  }

  async #withFile<T>(
    path: string,
    mode: "r" | "w",
    signal: AbortSignal,
    work: (handle: number) => Promise<T>,
  ): Promise<T> {
    const handle = Handle.parse(await this.#agent().execute("guest-file-open", { path, mode }, signal));
    try {
      return await work(handle);
    } finally {
      await this.#agent()
        .execute("guest-file-close", { handle }, AbortSignal.timeout(5_000))
        .catch(() => {});
    }
  }

  async #fill(handle: number, content: AsyncIterable<Uint8Array> | Uint8Array, signal: AbortSignal): Promise<number> {
    let sizeBytes = 0;
    for await (const part of content instanceof Uint8Array ? [content] : content) {
      for (let start = 0; start < part.length; start += CHUNK_BYTES) {
        const data = Buffer.from(part.subarray(start, start + CHUNK_BYTES));
        const answer = { handle, "buf-b64": data.toString("base64") };
        await this.#agent().execute("guest-file-write", answer, signal);
        sizeBytes += data.length;
      }
    }
    return sizeBytes;
  }
}

function assertDone({ exitCode, timedOut, stderr }: CommandResult, path: string): void {
  if (exitCode === 0) return;
  const said = stderr.text.trim().slice(0, 200);
  if (/No space left/.test(said)) {
    throw new ToolyardError("limit_exceeded", `the guest's disk is full: ${path}`, { details: { limit: "disk" } });
  }
  const reason = Object.entries(REASONS).find(([code]) => Number(code) === exitCode)?.[1];
  if (reason !== undefined) throw new ToolyardError(reason, `${path}: ${said === "" ? WHY[reason] : said}`);
  const why = timedOut ? "it took too long" : said;
  throw new ToolyardError("dependency_failed", `the guest could not do it at ${path}: ${why}`);
}

const WHY = {
  path_not_found: "there is nothing",
  path_exists: "there is something already",
  path_refused: "it is not of the kind that is needed",
  path_forbidden: "the guest's user may not touch it",
} as const;

/** A link's target follows its line. */
function splitLink(text: string, path: string): [string, string | undefined] {
  const end = text.indexOf(` ${path}\n`);
  if (end < 0) return [text, undefined];
  const rest = text.slice(end + path.length + 2);
  return [text.slice(0, end + path.length + 2), rest === "" ? undefined : rest.replace(/\n$/, "")];
}

const KINDS: Readonly<Record<number, FileKind>> = {
  0o01: "fifo",
  0o02: "device",
  0o04: "directory",
  0o06: "device",
  0o10: "file",
  0o12: "symlink",
  0o14: "socket",
};

/** Reads lines of `stat`, each of which starts with a byte that names hardly ever have, so that they may have line ends. */
export function parseStats(text: string): FileInfo[] {
  return text.split("\u0001").flatMap((entry) => {
    const found = /^([0-9a-f]{1,8}) (\d{1,16}) (-?\d{1,12}) (\d{1,10}) (\d{1,10}) ([\s\S]+)\n$/.exec(entry);
    if (found === null) return [];
    const [, bits = "0", size, seconds, owner, group, path = ""] = found;
    const mode = Number.parseInt(bits, 16);
    return {
      path,
      kind: KINDS[mode >> 12] ?? "device",
      sizeBytes: Number(size),
      mode: mode & 0o7777,
      modifiedAt: Number(seconds) * 1_000,
      owner: Number(owner),
      group: Number(group),
    };
  });
}

function toUnable(what: string): ToolyardError {
  return new ToolyardError("runtime_unavailable", `the files of a virtual machine cannot be asked to ${what}`, {
    suggestion: "Run a command in it instead.",
  });
}

function toUnableStream(what: string): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(toUnable(what)) }) };
}
