import type { CrossedError } from "../../../core/crossed-error.ts";
import type { OpenBrowserOptions } from "../open-browser.ts";

/** What the thread asks of the sandbox's files. */
export type FileQuestion =
  | { readonly kind: "stat"; readonly path: string }
  | { readonly kind: "read"; readonly path: string; readonly offset: number; readonly length: number };

/** To a browser's thread. */
export type ToThread =
  | { readonly kind: "open"; readonly id: number; readonly path: string; readonly options: OpenBrowserOptions }
  | { readonly kind: "run"; readonly id: number; readonly tool: string; readonly params: unknown }
  | { readonly kind: "abort"; readonly id: number; readonly reason: CrossedError }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "answer"; readonly id: number; readonly value: unknown }
  | { readonly kind: "refusal"; readonly id: number; readonly error: CrossedError }
  | { readonly kind: "ping" };

/** From a browser's thread. */
export type FromThread =
  | { readonly kind: "done"; readonly id: number; readonly value: unknown }
  | { readonly kind: "failed"; readonly id: number; readonly error: CrossedError }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** So many bytes of what came have been read. */
  | { readonly kind: "read"; readonly count: number }
  | { readonly kind: "ask"; readonly id: number; readonly question: FileQuestion }
  | { readonly kind: "pong" }
  /** It has hung up. */
  | { readonly kind: "closed" };

/** A copy that can be handed to another thread without a second one: a chunk may be a part of a larger buffer. */
export function toOwnBytes(chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(chunk);
}
