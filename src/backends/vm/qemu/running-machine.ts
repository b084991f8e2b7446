import { rm } from "node:fs/promises";
import path from "node:path";
import type { Duplex } from "node:stream";
import { ToolyardError } from "../../../core/errors.ts";
import type { CommandSpec } from "../../../core/sandbox-process.ts";
import type { DesktopSize, RunningDesktop } from "../desktop/provider.ts";
import type { GuestAgent } from "./guest-agent.ts";
import { GuestCommands } from "./guest-commands.ts";
import { GuestFiles } from "./guest-files.ts";
import { MACHINE_FILES } from "./machine-arguments.ts";
import { makeMachineFolder } from "./machine-folder.ts";
import { MachineSnapshots } from "./machine-snapshots.ts";
import { Machine, makeDisk, type MachineSpec } from "./machine.ts";
import { untilAborted } from "./qmp-client.ts";

const POWER_OFF_MS = 15_000;

/** What a desktop's machine is made from. */
export interface RunningMachineSpec extends MachineSpec {
  /** Where the folders of machines are. */
  readonly machines: string;
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** A desktop that is a virtual machine: its disk, for as long as the desktop is there, and what runs on it now. */
export class RunningMachine implements RunningDesktop {
  readonly screen = "machine";
  readonly display?: string;
  readonly files?: GuestFiles;
  readonly snapshots: MachineSnapshots;
  readonly ended: Promise<string>;
  readonly #folder: string;
  #spec: RunningMachineSpec;
  readonly #commands: GuestCommands | undefined;
  #machine: Machine | undefined;
  #stopped: Promise<void> | undefined;
  #becameOver: (why: string) => void = () => {};

  private constructor(folder: string, spec: RunningMachineSpec) {
    this.#folder = folder;
    this.#spec = spec;
    this.ended = new Promise((resolve) => (this.#becameOver = resolve));
    this.snapshots = new MachineSnapshots(() => this.#running());
    const { guest_agent: hasAgent, guest_cwd: cwd, guest_environment, guest_user: user } = spec.config;
    if (!hasAgent) return;
    const environment = { ...guest_environment, ...spec.environment };
    this.#commands = new GuestCommands(() => this.#agent(), { cwd, environment, user });
    this.files = new GuestFiles(() => this.#agent(), this.#commands, cwd);
    if (environment["DISPLAY"] !== undefined) this.display = environment["DISPLAY"];
  }

  /**
   * Makes a disk over the image and boots a machine on it, until its agent answers, where it has one. That moment is kept when the
   * config names it.
   *
   * @throws ToolyardError `dependency_failed` when it does not boot in time; the signal's reason. Nothing is left behind then.
   */
  static async start(spec: RunningMachineSpec, signal: AbortSignal): Promise<RunningMachine> {
    const folder = await makeMachineFolder(spec.machines, spec.config.run_as);
    const running = new RunningMachine(folder, spec);
    try {
      await makeDisk(folder, spec.image, spec.config.run_as, signal);
      await running.#boot(spec, signal);
      return running;
    } catch (error) {
      await running.stop();
      throw error;
    }
  }

  async connectDisplay(signal: AbortSignal): Promise<Duplex> {
    return this.#running().connect(signal);
  }

  async exec(
    command: CommandSpec,
    signal: AbortSignal,
    onOutput?: (stream: "stdout" | "stderr", text: string) => void,
  ): ReturnType<RunningDesktop["exec"]> {
    if (this.#commands === undefined) {
      throw new ToolyardError("runtime_unavailable", "the virtual machine has no guest agent, which commands go by");
    }
    const result = await this.#commands.exec(command, signal);
    // The agent tells what a command wrote when it has ended.
    for (const stream of ["stdout", "stderr"] as const) {
      if (result[stream].text !== "") onOutput?.(stream, result[stream].text);
    }
    return result;
  }

  /** Boots it again, with a screen of that size. */
  async start({ width, height }: DesktopSize, signal: AbortSignal): Promise<void> {
    if (this.#machine !== undefined) return;
    this.#spec = { ...this.#spec, size: { ...this.#spec.size, width, height } };
    await this.#boot(this.#spec, signal);
  }

  /** Lets the guest power itself off, and takes the power away from one that does not. Its disk stays. */
  async halt(): Promise<void> {
    const machine = this.#machine;
    if (machine === undefined) return;
    this.#machine = undefined;
    const late = AbortSignal.timeout(POWER_OFF_MS);
    await shutDown(machine, late).catch(() => {});
    await machine.kill();
  }

  /** Goes back to the moment that was kept when it was ready, or to a disk on which nothing was done. */
  async wipe(signal: AbortSignal): Promise<void> {
    const { config, image } = this.#spec;
    const { snapshot } = config;
    if (this.#machine !== undefined && snapshot !== undefined && this.snapshots.names.includes(snapshot)) {
      return this.snapshots.restore(snapshot, signal);
    }
    const machine = this.#machine;
    this.#machine = undefined;
    await machine?.kill();
    this.snapshots.clear();
    await rm(path.join(this.#folder, MACHINE_FILES.overlay), { force: true });
    await makeDisk(this.#folder, image, config.run_as, signal);
    // Files are put there before anything is shown, which takes its agent.
    await this.#boot(this.#spec, signal);
  }

  /** Takes its power away, and its disk. */
  stop(): Promise<void> {
    this.#stopped ??= (async () => {
      const machine = this.#machine;
      this.#machine = undefined;
      await machine?.kill();
      await rm(this.#folder, { recursive: true, force: true });
      this.#becameOver("it was stopped");
    })();
    return this.#stopped;
  }

  async #boot(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const machine = await Machine.start(this.#folder, spec, signal);
    try {
      await untilBooted(machine, spec.config.boot_timeout_ms, signal);
    } catch (error) {
      await machine.kill();
      throw error;
    }
    if (this.#stopped !== undefined) {
      await machine.kill();
      throw new ToolyardError("sandbox_dead", "the desktop was stopped while it started");
    }
    this.#machine = machine;
    void machine.ended.then((why) => this.#hasEnded(machine, why));
    const { snapshot } = spec.config;
    // Without an agent nobody says when it is ready.
    if (machine.agent !== undefined && snapshot !== undefined && !this.snapshots.names.includes(snapshot)) {
      await this.snapshots.save(snapshot, signal);
    }
  }

  /** A machine that goes down by itself takes the desktop with it. */
  #hasEnded(machine: Machine, why: string): void {
    if (this.#machine !== machine) return;
    this.#becameOver(`its virtual machine is over: ${why}`);
    void this.stop();
  }

  #running(): Machine {
    if (this.#machine !== undefined) return this.#machine;
    throw new ToolyardError("sandbox_dead", "the virtual machine is not running");
  }

  #agent(): GuestAgent {
    const { agent } = this.#running();
    if (agent !== undefined) return agent;
    throw new ToolyardError("runtime_unavailable", "the virtual machine has no guest agent");
  }
}

/** Waits for the guest's agent, where there is to be one. */
async function untilBooted(machine: Machine, bootMs: number, signal: AbortSignal): Promise<void> {
  if (machine.agent === undefined) return;
  const over = AbortSignal.timeout(bootMs);
  const gone = machine.ended.then((why): never => {
    throw new ToolyardError("dependency_failed", `the guest does not boot: ${why}`);
  });
  gone.catch(() => {});
  try {
    await Promise.race([machine.agent.ready(AbortSignal.any([signal, over])), gone]);
  } catch (error) {
    signal.throwIfAborted();
    if (!over.aborted) throw error;
    const last = await machine.console(AbortSignal.timeout(2_000)).catch(() => "");
    throw new ToolyardError("dependency_failed", `the guest's agent does not answer within ${bootMs} ms`, {
      details: { console: last },
      suggestion: "The image needs qemu-guest-agent; or allow more with boot_timeout_ms.",
    });
  }
}

/** Waits until the guest has written its disk and powered itself off; rejects when it does not know how. */
async function shutDown({ agent, qmp, ended }: Machine, late: AbortSignal): Promise<void> {
  if (agent === undefined) await qmp.execute("system_powerdown", {}, late);
  else {
    const sync = { path: "sync", "capture-output": false };
    await agent.execute("guest-exec", sync, late).catch(() => {});
    const refused = agent.execute("guest-shutdown", { mode: "powerdown" }, late);
    // It has no answer but the machine's end.
    return void (await Promise.race([ended, refused.then(() => ended)]));
  }
  await untilAborted(ended, late);
}
