import { randomUUID } from "node:crypto";
import type { EgressDoor } from "../../core/egress.ts";
import type { RuntimeStatus, SandboxInstance, SandboxLimits } from "../../core/runtime.ts";
import { type HolderExit, SupervisedInstance, type SupervisedOptions } from "../kernel/supervised-instance.ts";
import type { Launched } from "./launcher.ts";

class LocalInstance extends SupervisedInstance implements SandboxInstance {
  override readonly limits: SandboxLimits;

  constructor(options: SupervisedOptions) {
    super(options);
    // Nothing here holds a share of the processors.
    const { cpus: _cpus, ...held } = options.limits;
    this.limits = held;
  }

  pause(signal: AbortSignal): Promise<void> {
    return this.setPaused(true, signal);
  }

  resume(signal: AbortSignal): Promise<void> {
    return this.setPaused(false, signal);
  }
}

/** Makes the instance of one bubblewrap sandbox, in which all kernels share /workspace. */
export function createLocalInstance(
  launched: Launched,
  limits: Required<SandboxLimits>,
  languages: RuntimeStatus["languages"],
  egress?: EgressDoor,
): SupervisedInstance {
  const { process: child, channel } = launched;
  const ended = new Promise<HolderExit>((resolve) => {
    const end = (exitCode: number | null, signal: string | null, failure?: string) => {
      const diagnostics = [failure, launched.complaints()].filter(Boolean).join("; ");
      resolve({ exitCode, signal, ...(diagnostics === "" ? {} : { diagnostics }) });
    };
    child.once("error", (error) => end(null, null, error.message));
    child.once("exit", (code, signal) => end(code, signal));
  });
  return new LocalInstance({
    id: `local_${randomUUID()}`,
    runtime: "local",
    isolation: "namespace",
    channel,
    limits,
    languages,
    kill: () => child.kill("SIGKILL"),
    ended,
    ...(egress && { egress }),
  });
}
