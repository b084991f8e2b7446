import { StoreError, type StoredEvent } from "../core/store.ts";

/**
 * Checks that a batch goes on where the log ends.
 * @throws StoreError `invalid` when its ids do not ascend.
 */
export function checkEventOrder(events: readonly StoredEvent[], lastId: number): void {
  let previousId = lastId;
  for (const { id } of events) {
    if (!Number.isSafeInteger(id) || id <= previousId) {
      throw new StoreError("invalid", `The event id ${id} does not come after ${previousId}.`);
    }
    previousId = id;
  }
}
