import { randomUUID } from "node:crypto";
import { ToolyardError } from "../../core/errors.ts";
import type { Kernel, Language, SandboxExit, SandboxInstance, SandboxLimits } from "../../core/runtime.ts";
import type { EngineProcess } from "./engine-process.ts";
import { QuickJsKernel } from "./kernel.ts";

/** A set of QuickJS engines, one process for each kernel; it has no files and no commands. */
export class QuickJsInstance implements SandboxInstance {
  readonly id = `quickjs_${randomUUID()}`;
  readonly runtime = "quickjs";
  readonly isolation = "wasm";
  readonly limits: SandboxLimits;
  readonly closed: Promise<SandboxExit>;
  readonly #limits: Required<SandboxLimits>;
  readonly #claim: () => EngineProcess;
  readonly #kernels = new Set<QuickJsKernel>();
  #unused: QuickJsKernel | undefined;
  #close: (exit: SandboxExit) => void = () => {};
  #dead: SandboxExit | undefined;

  constructor(limits: Required<SandboxLimits>, claim: () => EngineProcess) {
    this.#limits = limits;
    // It has no processes and no files, and no bound on its share of the processors.
    const { pids: _pids, diskMiB: _disk, cpus: _cpus, ...own } = limits;
    this.limits = own;
    this.#claim = claim;
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
    this.#unused = this.#addKernel();
    // Connects at once, so that an engine that is still starting does so while the caller does other things.
    this.#unused.connect();
  }

  async openKernel(language: Language, _signal: AbortSignal): Promise<Kernel> {
    if (language !== "javascript") {
      throw new ToolyardError("runtime_unavailable", `the quickjs runtime runs JavaScript only, not ${language}`, {
        suggestion: `${language} needs the docker or the local runtime: apt-get install bubblewrap python3`,
      });
    }
    if (this.#dead !== undefined) throw new ToolyardError("sandbox_dead", `the sandbox is gone: ${this.#dead.reason}`);
    const kernel = this.#unused ?? this.#addKernel();
    this.#unused = undefined;
    return kernel;
  }

  async stop(): Promise<void> {
    this.#end({ reason: "it was stopped", expected: true, exitCode: null, signal: null });
    await Promise.all([...this.#kernels].map((kernel) => kernel.stop()));
  }

  #addKernel(): QuickJsKernel {
    const kernel = new QuickJsKernel({
      limits: this.#limits,
      claim: () => {
        if (this.#dead !== undefined)
          throw new ToolyardError("sandbox_dead", `the sandbox is gone: ${this.#dead.reason}`);
        return this.#claim();
      },
      died: (reason, exitCode, signal) => {
        if (this.#dead !== undefined) return;
        this.#end({ reason, expected: false, exitCode, signal });
        for (const other of this.#kernels) void other.stop();
      },
    });
    this.#kernels.add(kernel);
    return kernel;
  }

  #end(exit: SandboxExit): void {
    this.#dead ??= exit;
    this.#close(this.#dead);
  }
}
