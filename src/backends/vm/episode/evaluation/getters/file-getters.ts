import { posix } from "node:path";
import { z } from "zod";
import { ToolyardError } from "../../../../../core/errors.ts";
import type { SandboxFiles } from "../../../../../core/sandbox-files.ts";
import { abilityOf } from "../../../desktop/desktop-ability.ts";
import type { Found } from "../found.ts";
import { defineGetter, json, missing } from "./getter.ts";

const MAX_FILE_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
const MAX_ENTRIES = 10_000;
const Path = z.string().min(1).describe("Absolute, or relative to the desktop's home.");

/** What stands for a path that leads to nothing that can be read: the agent's doing, and no failure of ours. */
const NOT_THERE: ReadonlySet<string> = new Set(["path_not_found", "path_refused", "path_forbidden"]);

/** A file of the desktop, whole. */
export const vmFile = defineGetter({ path: Path }, ({ path }, { running }, signal) =>
  orMissing(async () => {
    const bytes = await readWhole(abilityOf(running, "files"), path, signal);
    return { kind: "file", name: posix.basename(path), bytes };
  }),
);

/** A file of the desktop as text. */
export const vmText = defineGetter({ path: Path }, ({ path }, { running }, signal) =>
  orMissing(async () => {
    const bytes = await readWhole(abilityOf(running, "files"), path, signal);
    return json(new TextDecoder().decode(bytes));
  }),
);

/** What is at a path, a folder too. */
export const vmPath = defineGetter({ path: Path }, ({ path }, { running }, signal) =>
  orMissing(async () => {
    const info = await abilityOf(running, "files").stat(path, signal);
    return info === null
      ? missing(`there is nothing at ${path}`)
      : json({ kind: info.kind, size_bytes: info.sizeBytes });
  }),
);

/** The names in a folder, by their paths relative to it, sorted. */
export const listDirectory = defineGetter(
  { path: Path, depth: z.int().min(1).max(64).default(1) },
  ({ path, depth }, { running }, signal) =>
    orMissing(async () => {
      const files = abilityOf(running, "files");
      const { entries, truncated } = await files.list(path, { depth, limit: MAX_ENTRIES }, signal);
      if (truncated) throw tooMuch("evaluation_entries", MAX_ENTRIES, `${path} holds more than can be compared`);
      const root = (await files.stat(path, signal))?.path ?? path;
      return json(entries.map((entry) => posix.relative(root, entry.path)).toSorted());
    }),
);

/** A file that the evaluator brings along. */
export const inlineFile = defineGetter(
  { name: z.string().max(255).default("expected"), text: z.string().optional(), base64: z.base64().optional() },
  async ({ name, text, base64 }) => {
    if ((text === undefined) === (base64 === undefined)) {
      throw new ToolyardError("invalid_input", "inline_file needs either text or base64");
    }
    return { kind: "file", name, bytes: text === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(text) };
  },
);

async function readWhole(files: SandboxFiles, path: string, signal: AbortSignal): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (let offset = 0; ; ) {
    // oxlint-disable-next-line no-await-in-loop -- each stretch begins where the last one ended
    const part = await files.read(path, { offset, length: CHUNK_BYTES }, signal);
    parts.push(part);
    offset += part.length;
    if (offset > MAX_FILE_BYTES) {
      throw tooMuch("evaluation_file_bytes", MAX_FILE_BYTES, `${path} is larger than what can be compared`);
    }
    if (part.length < CHUNK_BYTES) return Buffer.concat(parts);
  }
}

async function orMissing(get: () => Promise<Found>): Promise<Found> {
  try {
    return await get();
  } catch (error) {
    if (ToolyardError.is(error) && NOT_THERE.has(error.error)) return missing(error.message);
    throw error;
  }
}

function tooMuch(limit: string, max: number, message: string): ToolyardError {
  return new ToolyardError("limit_exceeded", message, { details: { limit, max } });
}
