/** What of a kernel's variables was written to a file or brought back from one. */
export interface KernelState {
  readonly saved: readonly string[];
  /** Each other one with the reason. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  readonly sizeBytes: number;
}

/** What bounds the writing and reading of a kernel's state. */
export interface KernelStateOptions {
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /** Of the file; what does not fit is skipped. 64 MiB by default. */
  readonly maxBytes?: number;
}
