import type { RuntimeRequest, RuntimeSelector, SandboxSpec } from "../../core/runtime.ts";

/** What the sandboxes of one session are chosen and made by. */
export interface SandboxesOptions {
  readonly selector: RuntimeSelector;
  readonly request: RuntimeRequest;
  readonly spec: SandboxSpec;
  readonly maxKernels: number;
}

/** By what a session's box is found again. */
export interface SandboxHandle {
  /** The runtime's name. */
  readonly runtime: string;
  /** What the runtime's instance said. */
  readonly handle: unknown;
}
