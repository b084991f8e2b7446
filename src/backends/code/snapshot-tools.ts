import { ToolyardError } from "../../core/errors.ts";
import { type Input, tool } from "../../core/tool.ts";
import type { CodeContext } from "./session.ts";
import {
  DeleteSnapshotResult,
  ForkParams,
  ForkResult,
  RestoreResult,
  SnapshotIdParams,
  SnapshotParams,
  SnapshotRecord,
  SnapshotsResult,
} from "./snapshot-schemas.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import { bringBack, takeSnapshot } from "./snapshots.ts";

/** `sandbox:snapshot` and what is done with snapshots. */
export class SnapshotTools {
  readonly #store: SnapshotStore;

  constructor(store: SnapshotStore) {
    this.#store = store;
  }

  @tool({
    name: "sandbox:snapshot",
    description:
      "Keep the files of the sandbox and what can be kept of its interpreters (Python's variables, the shell), for a " +
      'session to start with by session_config {"snapshot": id}. Says what could not be kept.',
    params: SnapshotParams,
    result: SnapshotRecord,
    annotations: { title: "Take a snapshot", destructiveHint: false },
  })
  snapshot({ name }: Input<typeof SnapshotParams>, context: CodeContext): Promise<SnapshotRecord> {
    const { session, tenant, workerId, signal } = context;
    return takeSnapshot(this.#store, session.data.sandboxes, { tenant, workerId, name }, signal);
  }

  @tool({
    name: "sandbox:snapshots",
    description: "List the snapshots that there are.",
    result: SnapshotsResult,
    annotations: { title: "List snapshots", readOnlyHint: true, idempotentHint: true },
  })
  async snapshots(_params: object, { tenant }: CodeContext): Promise<SnapshotsResult> {
    return { snapshots: await this.#store.list(tenant) };
  }

  @tool({
    name: "sandbox:delete_snapshot",
    description: "Delete a snapshot; says whether there was one.",
    params: SnapshotIdParams,
    result: DeleteSnapshotResult,
    annotations: { title: "Delete a snapshot", destructiveHint: true, idempotentHint: true },
  })
  async deleteSnapshot({ id }: Input<typeof SnapshotIdParams>, { tenant }: CodeContext): Promise<DeleteSnapshotResult> {
    return { id, deleted: await this.#store.delete(tenant, id) };
  }

  @tool({
    name: "sandbox:restore",
    description: "Bring this sandbox to what a snapshot holds: everything that it has now goes first.",
    params: SnapshotIdParams,
    result: RestoreResult,
    annotations: { title: "Restore a snapshot", destructiveHint: true },
  })
  async restore({ id }: Input<typeof SnapshotIdParams>, context: CodeContext): Promise<RestoreResult> {
    const { session, tenant, signal } = context;
    const { sandboxes } = session.data;
    // Before anything goes: a wrong id must cost nothing.
    await this.#store.get(tenant, id);
    await sandboxes.reset(signal);
    return { id, kernels: await bringBack(this.#store, sandboxes, { tenant, id }, signal) };
  }

  @tool({
    name: "sandbox:fork",
    description:
      "Make sessions for other workers with the files and interpreters of this one, as they are now; from then on they " +
      "share nothing, and random numbers are seeded anew.",
    params: ForkParams,
    result: ForkResult,
    annotations: { title: "Fork the session", destructiveHint: false },
  })
  async fork(params: Input<typeof ForkParams>, context: CodeContext): Promise<ForkResult> {
    const { session, tenant, workerId, signal, createSession } = context;
    if (createSession === undefined) {
      throw new ToolyardError("runtime_unavailable", "this server makes no sessions for tools");
    }
    const workers = [...new Set([params.worker_id].flat())];
    if (workers.includes(workerId)) {
      throw new ToolyardError("invalid_input", "worker_id must be another worker than the one that forks");
    }
    const { id, kernels } = await takeSnapshot(this.#store, session.data.sandboxes, { tenant, workerId }, signal);
    try {
      const made = await Promise.allSettled(
        workers.map(async (worker) => {
          const { id: sessionId, name } = await createSession.call(context, worker, {
            ...session.config,
            snapshot: id,
          });
          return { worker_id: worker, session_id: sessionId, session_name: name };
        }),
      );
      const sessions = made.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      const failed = made.find((one) => one.status === "rejected");
      if (failed === undefined) return { sessions, kernels };
      if (sessions.length === 0 || !ToolyardError.is(failed.reason)) throw failed.reason;
      throw new ToolyardError("partial_failure", `not every fork was made: ${failed.reason.message}`, {
        details: { sessions },
        cause: failed.reason,
      });
    } finally {
      // The sessions hold what it held by now.
      await this.#store.delete(tenant, id);
    }
  }
}
