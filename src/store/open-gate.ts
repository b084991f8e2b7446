import { StoreError } from "../core/store.ts";

/** Whether a store still takes operations. */
export class OpenGate {
  #open = true;

  /** @throws StoreError `closed` once `shut` was called. */
  check(): void {
    if (!this.#open) throw new StoreError("closed", "The store is closed.");
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Returns whether this call shut it. */
  shut(): boolean {
    const wasOpen = this.#open;
    this.#open = false;
    return wasOpen;
  }
}
