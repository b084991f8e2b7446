import { ToolyardError } from "../../core/errors.ts";
import type { RuntimeStatus, SandboxInstance, SandboxLimits, SandboxRuntime, SandboxSpec } from "../../core/runtime.ts";
import type { Egress } from "../../core/egress.ts";
import { mergeLimits } from "../kernel/limits.ts";
import { openDoor } from "../kernel/egress-door.ts";
import { toProxyEnvironment } from "../kernel/proxy-environment.ts";
import { SUPERVISED_ABILITIES } from "../kernel/supervised-instance.ts";
import { createLocalInstance } from "./instance.ts";
import { launch } from "./launcher.ts";
import { type Findings, probe } from "./probe.ts";
import { StartGate } from "../kernel/start-gate.ts";

// How long "not available" is believed: long enough not to probe per call, short enough to notice an installation.
const RECHECK_MS = 10_000;

/** Runs sandboxes as bubblewrap namespaces on the host's own python3, node and bash; Linux only. */
export class LocalRuntime implements SandboxRuntime {
  readonly name = "local";
  readonly isolation = "namespace";
  readonly abilities = [...SUPERVISED_ABILITIES, "pause", "resume"] as const;
  readonly #limits: SandboxLimits;
  readonly #egress: Egress | undefined;
  #findings: Promise<Findings> | undefined;
  #foundAt = 0;
  readonly #instances = new Set<SandboxInstance>();
  readonly #starting = new StartGate();

  /** Without `egress` no sandbox reaches anything. */
  constructor(options: { readonly limits?: SandboxLimits; readonly egress?: Egress } = {}) {
    this.#limits = options.limits ?? {};
    this.#egress = options.egress;
  }

  async check(signal: AbortSignal): Promise<RuntimeStatus> {
    return (await this.#look(signal)).status;
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxInstance> {
    const { bwrap, python, node, status, canDisableUserNamespaces } = await this.#look(signal);
    if (bwrap === undefined || python === undefined) {
      throw new ToolyardError("runtime_unavailable", `local sandboxes cannot run here: ${status.reason}`, {
        ...(status.remedy === undefined ? {} : { suggestion: status.remedy }),
      });
    }
    refuseImage(spec);
    const limits = mergeLimits(spec.limits, this.#limits);
    return this.#starting.run(signal, async () => {
      const door = openDoor(this.#egress, spec);
      const launched = launch({
        bwrap,
        python,
        ...(node === undefined ? {} : { node }),
        diskMiB: limits.diskMiB,
        environment: { ...(door === undefined ? {} : toProxyEnvironment()), ...spec.environment },
        canDisableUserNamespaces,
      });
      const instance = createLocalInstance(launched, limits, status.languages, door);
      this.#instances.add(instance);
      void instance.closed.then(() => this.#instances.delete(instance));
      await instance.ready(signal);
      return instance;
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#instances].map((instance) => instance.stop()));
  }

  async #look(signal: AbortSignal): Promise<Findings> {
    if (this.#findings === undefined || performance.now() - this.#foundAt > RECHECK_MS) {
      const looking = probe(signal);
      this.#findings = looking;
      this.#foundAt = performance.now();
      const findings = await looking.catch((error: unknown) => {
        this.#findings = undefined;
        throw error;
      });
      if (findings.status.available) this.#foundAt = Number.POSITIVE_INFINITY;
      // An aborted probe says nothing about the machine.
      if (signal.aborted) this.#findings = undefined;
    }
    return this.#findings ?? probe(signal);
  }
}

function refuseImage({ image }: SandboxSpec): void {
  if (image === undefined) return;
  throw new ToolyardError(
    "runtime_unavailable",
    "local sandboxes run on the host's own programs: they have no images",
    {
      suggestion: "Use the docker runtime, or leave the image out.",
    },
  );
}
