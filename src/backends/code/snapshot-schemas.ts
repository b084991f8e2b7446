import { z } from "zod";
import { isSafeName } from "../../core/protocol.ts";

const Id = z.string().min(1).max(128).describe("As sandbox:snapshot answered it.");

const Skipped = z.array(z.object({ name: z.string(), reason: z.string() }));

/** What of a kernel a snapshot holds. */
export const KernelContent = z.object({
  name: z.string(),
  language: z.enum(["javascript", "python", "bash"]),
  saved: z.array(z.string()).describe("Variables, by name; a thousand are named at most."),
  skipped: Skipped.describe("What could not be kept, and why; `*` stands for everything."),
});
export type KernelContent = z.infer<typeof KernelContent>;

/** A snapshot as it is kept beside its content. */
export const SnapshotRecord = z.object({
  id: z.string(),
  name: z.string().nullable(),
  worker_id: z.string(),
  created_at: z.string().describe("ISO 8601, UTC."),
  size_bytes: z.number(),
  runtime: z.string(),
  image: z.string().nullable(),
  kernels: z.array(KernelContent),
});
export type SnapshotRecord = z.infer<typeof SnapshotRecord>;

export const SnapshotParams = z.strictObject({
  name: z.string().min(1).max(128).optional().describe("A name of your own, for listings."),
});
export const SnapshotsResult = z.object({ snapshots: z.array(SnapshotRecord) });
export type SnapshotsResult = z.infer<typeof SnapshotsResult>;

export const SnapshotIdParams = z.strictObject({ id: Id });
export const DeleteSnapshotResult = z.object({ id: z.string(), deleted: z.boolean() });
export type DeleteSnapshotResult = z.infer<typeof DeleteSnapshotResult>;

export const RestoreResult = z.object({ id: z.string(), kernels: z.array(KernelContent) });
export type RestoreResult = z.infer<typeof RestoreResult>;

const WorkerId = z.string().refine(isSafeName, { error: "a worker_id is 1 to 256 printable ASCII characters" });
export const ForkParams = z.strictObject({
  worker_id: z
    .union([WorkerId, z.array(WorkerId).min(1).max(64)])
    .describe("Who gets a session with the files and interpreters of this one; several for several."),
});
export const ForkResult = z.object({
  sessions: z.array(z.object({ worker_id: z.string(), session_id: z.string(), session_name: z.string() })),
  kernels: z.array(KernelContent),
});
export type ForkResult = z.infer<typeof ForkResult>;
