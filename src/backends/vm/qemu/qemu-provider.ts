import { access, constants } from "node:fs/promises";
import path from "node:path";
import { ToolyardError } from "../../../core/errors.ts";
import type { DesktopProvider, DesktopSpec, RunningDesktop } from "../desktop/provider.ts";
import { probeKvm } from "./accelerator-probe.ts";
import { startConfined } from "./confined-process.ts";
import { type Accelerator, QEMU } from "./machine-arguments.ts";
import { defaultMachinesFolder, sweepMachineFolders } from "./machine-folder.ts";
import type { QemuConfig } from "./qemu-config.ts";
import { untilAborted } from "./qmp-client.ts";
import { RunningMachine } from "./running-machine.ts";

/** Programs that machines are made with, and the Debian packages that have them. */
const PROGRAMS = {
  [QEMU]: "qemu-system-x86",
  "qemu-img": "qemu-utils",
  setpriv: "util-linux",
  prlimit: "util-linux",
} as const;
const MIB = 1024 * 1024;
/** How many moments of all of a machine's memory its disk has room for. */
const SNAPSHOTS_OF_MEMORY = 2;
const PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/** How machines are accelerated here, and why not otherwise. */
export interface Acceleration {
  readonly accelerator: Accelerator;
  /** Why KVM is not used, where it was looked for. */
  readonly withoutKvm?: string;
}

/**
 * Desktops that are virtual machines: each with its own kernel, a disk over a common image that goes with it, and no network.
 * The screen, mouse and keys are those of qemu's VNC server; commands and files go by the guest's agent, moments by QMP.
 */
export class QemuDesktopProvider implements DesktopProvider {
  readonly name = "qemu";
  readonly #config: QemuConfig;
  readonly #machines: string;
  #acceleration: Promise<Acceleration> | undefined;
  #found: Acceleration | undefined;
  #swept: Promise<void> | undefined;

  constructor(config: QemuConfig) {
    this.#config = config;
    this.#machines = config.folder ?? defaultMachinesFolder();
  }

  async check(signal: AbortSignal): Promise<string | undefined> {
    const missing = new Set<string>();
    for (const [program, packageName] of Object.entries(PROGRAMS)) {
      // oxlint-disable-next-line no-await-in-loop -- four of them
      if (!(await isInstalled(program))) missing.add(packageName);
    }
    if (missing.size > 0) return `not installed: apt-get install ${[...missing].join(" ")}`;
    const unreadable = await this.#whyUnreadable(signal);
    if (unreadable !== undefined) return unreadable;
    if (this.#config.accelerator !== "kvm") return undefined;
    const { withoutKvm } = await this.acceleration(signal);
    return withoutKvm === undefined ? undefined : `accelerator "kvm": ${withoutKvm}`;
  }

  /** Waits for nothing: where KVM has not been tried yet, that is begun. */
  details(): Promise<Readonly<Record<string, unknown>>> {
    const found = this.#found;
    if (found === undefined) void this.acceleration(new AbortController().signal).catch(() => {});
    const { accelerator, withoutKvm } = found ?? { accelerator: "not tried yet", withoutKvm: undefined };
    return Promise.resolve({
      image: this.#config.image,
      accelerator,
      ...(withoutKvm !== undefined && { without_kvm: withoutKvm }),
    });
  }

  /** Finds out once how machines are accelerated here. */
  async acceleration(signal: AbortSignal): Promise<Acceleration> {
    this.#acceleration ??= this.#probe().then(
      (found) => (this.#found = found),
      (error: unknown) => {
        this.#acceleration = undefined;
        throw error;
      },
    );
    return untilAborted(this.#acceleration, signal);
  }

  async start(spec: DesktopSpec, signal: AbortSignal): Promise<RunningDesktop> {
    const lacking = await this.check(signal);
    if (lacking !== undefined) throw new ToolyardError("runtime_unavailable", `no machine can be started: ${lacking}`);
    await (this.#swept ??= sweepMachineFolders(this.#machines));
    const { image, network = "none", limits = {}, environment = {} } = spec.sandbox;
    if (network !== "none") {
      throw new ToolyardError("runtime_unavailable", "a virtual machine has no network, and no list of hosts");
    }
    const { memoryMiB = 2_048, cpus = 2, diskMiB = 1_024 } = limits;
    const { accelerator } = await this.acceleration(signal);
    return RunningMachine.start(
      {
        config: this.#config,
        machines: this.#machines,
        accelerator,
        image: this.#toImage(image),
        size: { width: spec.width, height: spec.height, memoryMiB, cpus: Math.ceil(cpus) },
        // The moments that are kept have the machine's memory beside what it has written.
        diskBytes: (diskMiB + SNAPSHOTS_OF_MEMORY * memoryMiB) * MIB,
        environment,
      },
      signal,
    );
  }

  #toImage(name: string | undefined): string {
    const image = name === undefined ? this.#config.image : this.#config.images[name];
    if (image !== undefined) return image;
    throw new ToolyardError("invalid_input", `the server's config has no image ${name} of virtual machines`);
  }

  async #probe(): Promise<Acceleration> {
    if (this.#config.accelerator === "tcg") return { accelerator: "tcg" };
    const withoutKvm = await probeKvm(this.#machines, this.#config.run_as);
    return withoutKvm === undefined ? { accelerator: "kvm" } : { accelerator: "tcg", withoutKvm };
  }

  /** Whether the user who runs machines may read what they are made of. */
  async #whyUnreadable(signal: AbortSignal): Promise<string | undefined> {
    const { image, images, kernel, initrd, firmware, run_as: runAs } = this.#config;
    const files = [image, ...Object.values(images), kernel, initrd, firmware].filter((file) => file !== undefined);
    const script = 'for file; do [ -f "$file" ] && [ -r "$file" ] || { echo "$file" >&2; exit 1; }; done';
    const { child, ended, complaint } = await startConfined(["sh", "-c", script, "sh", ...files], { runAs, cwd: "/" });
    const abort = () => child.kill("SIGKILL");
    signal.addEventListener("abort", abort, { once: true });
    await ended;
    signal.removeEventListener("abort", abort);
    signal.throwIfAborted();
    if (child.exitCode === 0) return undefined;
    return `${complaint()} is no file that the user ${process.getuid?.() === 0 ? runAs : "of the server"} can read`;
  }
}

async function isInstalled(program: string): Promise<boolean> {
  for (const folder of PATH.split(":")) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- in the order of the path
      await access(path.join(folder, program), constants.X_OK);
      return true;
    } catch {
      // Not in this one.
    }
  }
  return false;
}
