import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { ToolyardError } from "../../core/errors.ts";
import type { KernelState } from "../../core/kernel-state.ts";
import type { SandboxFiles } from "../../core/sandbox-files.ts";
import { contentOf } from "./file-content.ts";
import type { OpenKernel, SessionSandboxes } from "./sandboxes.ts";
import { DUMP_SHELL } from "./shell-code.ts";
import type { KernelContent, SnapshotRecord } from "./snapshot-schemas.ts";
import type { SnapshotStore, SnapshotWriter } from "./snapshot-store.ts";

/** What a sandbox's user can write to, and a snapshot holds. */
const FOLDERS = [
  { path: "/workspace", part: "workspace.tar.gz" },
  { path: "/tmp", part: "tmp.tar.gz" },
] as const;
const FORMAT = "tar.gz";
/** Between a snapshot and its sandbox nothing is gained by a bound tighter than the sandbox's own disk. */
const LIMITS = { entries: 1_000_000, totalBytes: 64 * 1024 ** 3 };
const STATE_DEADLINE_MS = 60_000;
/** What is told of a kernel's variables; code that has taken its kernel over can name as many as it likes. */
const MAX_NAMES = 1_000;
const MAX_NAME_LENGTH = 256;

/** Whose snapshot it is, beside what it holds. */
export interface SnapshotOwner {
  readonly tenant: string;
  readonly workerId: string;
  readonly name?: string | undefined;
}

/**
 * Keeps the files of a session's box and what can be kept of its kernels, while no code of theirs runs. Processes are not
 * kept; commands in the background go on meanwhile.
 */
export function takeSnapshot(
  store: SnapshotStore,
  sandboxes: SessionSandboxes,
  { tenant, workerId, name }: SnapshotOwner,
  signal: AbortSignal,
): Promise<SnapshotRecord> {
  const { files, runtime, image } = sandboxes.able("files");
  return store.create(tenant, (writer) =>
    sandboxes.quiet(signal, async () => {
      const createdAt = new Date();
      const kernels: KernelContent[] = [];
      for (const [index, open] of sandboxes.kernels.entries()) {
        // Together they would double the memory that the sandbox needs.
        // oxlint-disable-next-line no-await-in-loop
        kernels.push(await dump(open, files, `kernel-${index}`, writer, signal));
      }
      for (const { path, part } of FOLDERS) {
        // The rate is the sandbox's, which has one connection.
        // oxlint-disable-next-line no-await-in-loop
        await writer.write(part, files.archive(path, { format: FORMAT }, signal), signal);
      }
      return {
        name: name ?? null,
        worker_id: workerId,
        created_at: createdAt.toISOString(),
        runtime,
        image: image ?? null,
        kernels,
      };
    }),
  );
}

/**
 * Brings a snapshot's files and kernels into a session's box, which must be fresh. Random numbers are seeded anew, so that two
 * sessions of one snapshot do not draw the same ones.
 *
 * @throws ToolyardError `unknown_name` for a snapshot that is not the tenant's.
 */
export async function bringBack(
  store: SnapshotStore,
  sandboxes: SessionSandboxes,
  { tenant, id }: { readonly tenant: string; readonly id: string },
  signal: AbortSignal,
): Promise<KernelContent[]> {
  const { files } = sandboxes.able("files");
  const { record, part } = await store.get(tenant, id);
  for (const { path, part: name } of FOLDERS) {
    // One after another, as they were taken.
    // oxlint-disable-next-line no-await-in-loop
    const file = await part(name);
    if (file === null) continue;
    // oxlint-disable-next-line no-await-in-loop
    await files.extract(path, createReadStream(file), { format: FORMAT, limits: LIMITS, anyLinks: true }, signal);
  }
  const brought: KernelContent[] = [];
  for (const [index, kernel] of record.kernels.entries()) {
    // oxlint-disable-next-line no-await-in-loop
    const file = await part(`kernel-${index}`);
    // oxlint-disable-next-line no-await-in-loop
    brought.push(file === null ? kernel : await load(kernel, file, sandboxes, signal));
  }
  return brought;
}

async function dump(
  { name, kernel }: OpenKernel,
  files: SandboxFiles,
  part: string,
  writer: SnapshotWriter,
  signal: AbortSignal,
): Promise<KernelContent> {
  const { language } = kernel;
  const path = `/tmp/.toolyard-${randomUUID()}`;
  try {
    if (kernel.dumpState !== undefined && language === "python") {
      const state = await kernel.dumpState(path, { deadlineMs: STATE_DEADLINE_MS, signal });
      await writer.write(part, contentOf(files, path, signal), signal);
      return { name, language, ...toTold(state) };
    }
    if (language === "bash") {
      const done = await kernel.run(
        { code: `{ ${DUMP_SHELL}\n} > ${path}`, deadlineMs: STATE_DEADLINE_MS },
        { signal },
      );
      if (done.status !== "ok") throw new ToolyardError("execution_error", "the shell could not say its state");
      await writer.write(part, contentOf(files, path, signal), signal);
      return { name, language, saved: ["*"], skipped: [] };
    }
    return { name, language, saved: [], skipped: [{ name: "*", reason: `the state of ${language} cannot be kept` }] };
  } catch (error) {
    // What its own code made impossible must not cost the files; a full store and a dead sandbox do.
    if (!ToolyardError.is(error) || !["execution_error", "timeout", "path_not_found"].includes(error.error))
      throw error;
    return { name, language, saved: [], skipped: [{ name: "*", reason: error.message }] };
  } finally {
    await files.remove(path, { recursive: false }, signal).catch(() => false);
  }
}

async function load(
  kept: KernelContent,
  file: string,
  sandboxes: SessionSandboxes,
  signal: AbortSignal,
): Promise<KernelContent> {
  const { name, language } = kept;
  const { files } = sandboxes.able("files");
  const path = `/tmp/.toolyard-${randomUUID()}`;
  try {
    await files.write(path, createReadStream(file), { mode: 0o600 }, signal);
    return await sandboxes.use(name, language, signal, async ({ kernel }) => {
      if (language === "bash") {
        await kernel.run({ code: `source ${path} 2>/dev/null; true`, deadlineMs: STATE_DEADLINE_MS }, { signal });
        return kept;
      }
      if (kernel.loadState === undefined) {
        return { ...kept, saved: [], skipped: [{ name: "*", reason: `this runtime cannot bring ${language} back` }] };
      }
      const { saved, skipped } = toTold(await kernel.loadState(path, { deadlineMs: STATE_DEADLINE_MS, signal }));
      return { name, language, saved, skipped: [...kept.skipped, ...skipped] };
    });
  } catch (error) {
    if (!ToolyardError.is(error) || !["execution_error", "timeout", "runtime_unavailable"].includes(error.error)) {
      throw error;
    }
    return { name, language, saved: [], skipped: [{ name: "*", reason: error.message }] };
  } finally {
    await files.remove(path, { recursive: false }, signal).catch(() => false);
  }
}

function toTold({ saved, skipped }: KernelState): Pick<KernelContent, "saved" | "skipped"> {
  const clip = (text: string) => text.slice(0, MAX_NAME_LENGTH);
  return {
    saved: saved.slice(0, MAX_NAMES).map(clip),
    skipped: skipped.slice(0, MAX_NAMES).map(({ name, reason }) => ({ name: clip(name), reason: clip(reason) })),
  };
}
