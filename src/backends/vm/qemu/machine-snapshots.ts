import { z } from "zod";
import { ToolyardError } from "../../../core/errors.ts";
import type { DesktopSnapshots } from "../desktop/provider.ts";
import type { GuestAgent } from "./guest-agent.ts";
import { DISK_NODE } from "./machine-arguments.ts";
import { type QmpClient, QmpError, untilAborted } from "./qmp-client.ts";

const Jobs = z.array(z.looseObject({ id: z.string(), status: z.string(), error: z.string().optional() }));

/** Whole moments of a machine, its memory and its disk, in the machine's own overlay. */
export class MachineSnapshots implements DesktopSnapshots {
  readonly keeps = "everything";
  readonly #machine: () => { readonly qmp: QmpClient; readonly agent: GuestAgent | undefined };
  readonly #names = new Set<string>();
  #lastJob = 0;
  #turn: Promise<unknown> = Promise.resolve();

  /** @param machine the one that runs now; throws when none does. */
  constructor(machine: () => { readonly qmp: QmpClient; readonly agent: GuestAgent | undefined }) {
    this.#machine = machine;
  }

  /** Forgets all, which went with the disk. */
  clear(): void {
    this.#names.clear();
  }

  get names(): readonly string[] {
    return [...this.#names];
  }

  /**
   * Keeps the present moment, in place of an earlier one of that name. The machine stands still meanwhile.
   *
   * @throws ToolyardError `limit_exceeded` when there is no room for it; `dependency_failed`; `sandbox_dead`; the signal's reason.
   */
  save(name: string, signal: AbortSignal): Promise<void> {
    return this.#oneAtATime(async () => {
      if (this.#names.has(name)) await this.#run("snapshot-delete", { tag: name, devices: [DISK_NODE] }, signal);
      this.#names.delete(name);
      await this.#run("snapshot-save", { tag: name, vmstate: DISK_NODE, devices: [DISK_NODE] }, signal);
      this.#names.add(name);
    });
  }

  /** Brings the machine back to a moment. @throws as `save`, and ToolyardError `unknown_name`. */
  restore(name: string, signal: AbortSignal): Promise<void> {
    return this.#oneAtATime(async () => {
      if (!this.#names.has(name)) throw new ToolyardError("unknown_name", `the machine has no snapshot ${name}`);
      try {
        await this.#run("snapshot-load", { tag: name, vmstate: DISK_NODE, devices: [DISK_NODE] }, signal);
      } finally {
        this.#machine().agent?.lostStep();
      }
      await this.#machine().qmp.execute("cont", {}, signal);
    });
  }

  /** Jobs of one machine stand in each other's way. */
  #oneAtATime(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Runs one of QEMU's jobs to its end. */
  async #run(command: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<void> {
    const { qmp } = this.#machine();
    const id = `toolyard-${(this.#lastJob += 1)}`;
    const { promise: concluded, resolve } = Promise.withResolvers<void>();
    const forget = qmp.onEvent(({ event, data }) => {
      if (event === "JOB_STATUS_CHANGE" && data["id"] === id && data["status"] === "concluded") resolve();
    });
    try {
      await qmp.execute(command, { ...args, "job-id": id }, signal);
      await untilAborted(Promise.race([concluded, gone(qmp)]), signal);
      const job = Jobs.parse(await qmp.execute("query-jobs", {}, signal)).find((it) => it.id === id);
      await qmp.execute("job-dismiss", { id }, signal);
      if (job?.error !== undefined) throw toFailure(command, job.error);
    } catch (error) {
      if (error instanceof QmpError) throw toFailure(command, error.message);
      throw error;
    } finally {
      forget();
    }
  }
}

async function gone(qmp: QmpClient): Promise<never> {
  const reason = await qmp.closed;
  throw new ToolyardError("sandbox_dead", `the virtual machine is gone: ${reason.message}`);
}

function toFailure(command: string, why: string): ToolyardError {
  if (/No space left|File too large/.test(why)) {
    return new ToolyardError("limit_exceeded", `${command}: there is no room for the snapshot`, {
      details: { limit: "disk_mib" },
    });
  }
  return new ToolyardError("dependency_failed", `${command}: ${why.slice(0, 400)}`);
}
