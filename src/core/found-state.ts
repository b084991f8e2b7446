import type { Language } from "./runtime.ts";

/** What a sandbox had when it was taken up again. */
export interface FoundState {
  readonly kernels: readonly { readonly name: string; readonly language: Language }[];
  readonly paused: boolean;
}
