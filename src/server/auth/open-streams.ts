import type { Writable } from "node:stream";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/context.ts";
import type { Identity } from "./identity.ts";

export interface OpenStreamsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stillGood: (identity: Identity) => Promise<boolean>;
}

/** How often the keys behind open streams are looked at again. */
const CHECK_MS = 5_000;

/** Ends the streams of a key that was revoked or has expired: who is let in once is not let in for ever. */
export class OpenStreams {
  readonly #options: OpenStreamsOptions;
  readonly #byKey = new Map<string, { readonly identity: Identity; readonly open: Set<Writable> }>();
  #waiting = false;

  constructor(options: OpenStreamsOptions) {
    this.#options = options;
  }

  /** Watches a stream until it ends. */
  track(identity: Identity, outgoing: Writable): void {
    const { keyId } = identity;
    if (keyId === null || outgoing.closed) return;
    const holder = this.#byKey.get(keyId) ?? { identity, open: new Set() };
    this.#byKey.set(keyId, holder);
    holder.open.add(outgoing);
    outgoing.once("close", () => {
      holder.open.delete(outgoing);
      if (holder.open.size === 0 && this.#byKey.get(keyId) === holder) this.#byKey.delete(keyId);
    });
    this.#checkLater();
  }

  /** Looks at the keys now. */
  async check(): Promise<void> {
    for (const { identity, open } of [...this.#byKey.values()]) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- few keys, and the store need not meet them at once
        if (await this.#options.stillGood(identity)) continue;
        for (const outgoing of open) outgoing.destroy();
      } catch (error) {
        this.#options.logger.error(
          { err: error, key_id: identity.keyId },
          "the key behind a stream could not be checked",
        );
      }
    }
  }

  #checkLater(): void {
    if (this.#waiting || this.#byKey.size === 0) return;
    this.#waiting = true;
    this.#options.clock.after(CHECK_MS, () => {
      void this.check().finally(() => {
        this.#waiting = false;
        this.#checkLater();
      });
    });
  }
}
