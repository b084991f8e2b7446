import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/context.ts";
import { ToolyardError } from "../core/errors.ts";
import type { IdempotencyRecord, IdempotencyStore } from "../core/store.ts";
import type { CancelSource } from "./deadline.ts";
import { KeptBytes } from "./kept-bytes.ts";
import type { EngineLimits } from "./limits.ts";
import { SharedWait } from "./shared-wait.ts";
import type { SteadyTime } from "./steady-time.ts";

export interface IdempotencyDeps {
  readonly store: IdempotencyStore;
  /** This run of the server: what another one left running is in doubt. */
  readonly instance: string;
  readonly clock: Clock;
  readonly time: SteadyTime;
  readonly limits: EngineLimits;
  readonly logger: Logger;
}

/** What a caller wants done once. */
export interface Claim {
  readonly tenant: string;
  readonly key: string;
  /** The same key with another one is a conflict. */
  readonly fingerprint: string;
  /** Whether it may be done again when a server died over it and nobody knows how far it was. */
  readonly repeatable: boolean;
}

/** What the work came to; work that had no effect leaves its key free. */
export interface Done<T> {
  readonly value: T;
  readonly hadEffect: boolean;
}

/** What is answered: the value of this run, or of the one that had the key first. */
export interface Kept<T> {
  readonly value: T;
  readonly replayed: boolean;
}

/** What is kept under a key, and what claimed it: the value, or why there is none. */
export type Recalled<T> =
  | { readonly fingerprint: string; readonly value: T; readonly error?: undefined }
  | { readonly fingerprint: string; readonly error: ToolyardError };

interface Flight {
  readonly fingerprint: string;
  readonly wait: SharedWait;
  readonly value: Promise<Kept<unknown>>;
}

/** An answer as it is stored; one that is too large leaves its size. */
type StoredAnswer<T> = { readonly value: T } | { readonly droppedBytes: number; readonly limit: string };

/** A key is 1 to 255 visible ASCII characters; a space is free for keys that the server makes of others. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Checks a key that a caller chose.
 *
 * @throws ToolyardError invalid_input
 */
export function checkKey(field: string, key: string): string {
  if (KEY.test(key)) return key;
  throw new ToolyardError("invalid_input", `${field} takes 1 to 255 visible ASCII characters`);
}

/** Sees to it that what is asked under one key is done once, however often it is asked, and across a restart. */
export class Idempotency {
  readonly #deps: IdempotencyDeps;
  readonly #flights = new Map<string, Flight>();
  readonly #kept: KeptBytes;
  /** What must not be forgotten, whatever its age. */
  readonly #pinned = new Set<Pick<Claim, "tenant" | "key">>();

  constructor(deps: IdempotencyDeps) {
    this.#deps = deps;
    this.#kept = new KeptBytes(deps.limits.keptAnswersBytes);
  }

  /**
   * Does the work, or answers with what it came to before. Those who ask while it is under way wait for the same run,
   * which is cancelled once all of them have gone.
   *
   * A record is written before the work begins, and the value before it is answered. Work that throws had no effect.
   *
   * @throws ToolyardError conflict, unknown_outcome, limit_exceeded for a value that was too large to keep,
   *   dependency_failed when the record could not be written; whatever the work throws.
   */
  async once<T>(
    claim: Claim,
    waiter: CancelSource | undefined,
    work: (wait: CancelSource) => Promise<Done<T>>,
  ): Promise<Kept<T>> {
    const id = `${claim.tenant}\n${claim.key}`;
    const flight = this.#flights.get(id);
    if (flight !== undefined) {
      checkFingerprint(claim, flight.fingerprint);
      flight.wait.join(waiter);
      const { value } = await flight.value;
      return { value: value as T, replayed: true }; // the same fingerprint is the same kind of work
    }
    const wait = new SharedWait(this.#deps.clock, this.#deps.limits.disconnectGraceMs);
    wait.join(waiter);
    const value = this.#run(claim, wait, work).finally(() => {
      wait.close();
      this.#flights.delete(id);
    });
    this.#flights.set(id, { fingerprint: claim.fingerprint, wait, value });
    return value;
  }

  /**
   * Tells what became of what was asked under a key, whoever asks; `undefined` when nothing is kept under it.
   *
   * @throws ToolyardError dependency_failed when the store cannot be read.
   */
  async recall<T>(tenant: string, key: string): Promise<Recalled<T> | undefined> {
    const { store, logger } = this.#deps;
    let holder: IdempotencyRecord | null;
    try {
      holder = await store.get(tenant, key);
    } catch (error) {
      logger.error({ err: error }, "an idempotency record could not be read");
      throw new ToolyardError("dependency_failed", "What was kept of the call could not be read", { cause: error });
    }
    if (holder === null) return undefined;
    const { fingerprint } = holder;
    try {
      return { fingerprint, value: replay<T>({ fingerprint }, holder) };
    } catch (error) {
      if (!ToolyardError.is(error)) throw error;
      return { fingerprint, error };
    }
  }

  /**
   * Keeps what is kept under a key for as long as what it began goes on, however long that takes and whatever there is room for.
   *
   * @returns what lets it grow old from then on.
   */
  pin({ tenant, key }: Claim): () => void {
    const pinned = { tenant, key };
    this.#pinned.add(pinned);
    return () => {
      if (this.#pinned.delete(pinned)) void this.#renew([pinned]);
    };
  }

  /** Waits until nothing is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#flights.values()].map(({ value }) => value));
  }

  /** Marks what a dead server left, so that it is answered as unknown. */
  async recover(): Promise<void> {
    const { store, instance, logger } = this.#deps;
    const count = await store.markUnknown(instance);
    if (count > 0) logger.warn({ count }, "keyed calls were cut off by the end of the last server");
  }

  async prune(): Promise<void> {
    const { store, time, limits } = this.#deps;
    const before = time.now() - limits.idempotencyRetentionMs;
    this.#kept.forgetBefore(before);
    await this.#renew([...this.#pinned]);
    await store.prune(before);
  }

  async #renew(keys: readonly Pick<Claim, "tenant" | "key">[]): Promise<void> {
    if (keys.length === 0) return;
    const { store, time, logger } = this.#deps;
    try {
      await store.renew(keys, time.now());
    } catch (error) {
      logger.error({ err: error, keys: keys.length }, "the keys of running jobs could not be kept longer");
    }
  }

  async #run<T>(claim: Claim, wait: CancelSource, work: (wait: CancelSource) => Promise<Done<T>>): Promise<Kept<T>> {
    const holder = await this.#begin(claim);
    if (holder !== null) return { value: replay<T>(claim, holder), replayed: true };
    try {
      const done = await work(wait);
      if (done.hadEffect) await this.#keep(claim, done.value);
      else await this.#release(claim);
      return { value: done.value, replayed: false };
    } catch (error) {
      await this.#release(claim);
      throw error;
    }
  }

  async #begin({ tenant, key, fingerprint, repeatable }: Claim): Promise<IdempotencyRecord | null> {
    const { store, instance, time, logger } = this.#deps;
    const record = { tenant, key, fingerprint, instance, keptAt: time.now() };
    try {
      return await store.begin(record, { retakeUnknown: repeatable });
    } catch (error) {
      logger.error({ err: error }, "an idempotency record could not be written");
      throw new ToolyardError("dependency_failed", "The call's idempotency record could not be written; nothing ran", {
        cause: error,
      });
    }
  }

  /** The caller gets its answer also when it cannot be kept; a repeat is then answered as unknown. */
  async #keep(claim: Claim, value: unknown): Promise<void> {
    const { store, limits, logger, time } = this.#deps;
    let answer = JSON.stringify({ value });
    const bytes = Buffer.byteLength(answer);
    const fits = bytes <= limits.keptAnswerBytes;
    // One time for both, so that what is forgotten for room is what was counted, and never this.
    const now = time.now();
    const { keep, forgetBefore } = this.#kept.add(now, fits ? bytes : 0);
    // That the call ran is kept in any case, so that it never runs again.
    if (!fits) answer = JSON.stringify({ droppedBytes: bytes, limit: "kept_answer_bytes" });
    else if (!keep) answer = JSON.stringify({ droppedBytes: bytes, limit: "kept_answers_bytes" });
    try {
      await store.finish(claim.tenant, claim.key, answer, now);
      if (forgetBefore === undefined) return;
      await this.#renew([...this.#pinned]);
      await store.prune(forgetBefore);
    } catch (error) {
      logger.error({ err: error }, "the answer of a keyed call could not be kept");
    }
  }

  async #release({ tenant, key }: Claim): Promise<void> {
    try {
      await this.#deps.store.release(tenant, key);
    } catch (error) {
      this.#deps.logger.error({ err: error }, "an idempotency key could not be released");
    }
  }
}

function checkFingerprint(claim: Pick<Claim, "fingerprint">, taken: string): void {
  if (claim.fingerprint === taken) return;
  throw new ToolyardError("conflict", "The idempotency key was used for another request");
}

function replay<T>(claim: Pick<Claim, "fingerprint">, holder: IdempotencyRecord): T {
  checkFingerprint(claim, holder.fingerprint);
  // One that is still running here and not under way any more is one whose answer could not be written.
  if (holder.state !== "done" || holder.answer === null) {
    throw new ToolyardError("unknown_outcome", "The server ended while it ran this call, or could not keep its answer");
  }
  const stored = JSON.parse(holder.answer) as StoredAnswer<T>; // written by #keep alone
  if ("value" in stored) return stored.value;
  throw new ToolyardError("limit_exceeded", "The call ran, and there was no room to keep its answer", {
    details: { limit: stored.limit, size_bytes: stored.droppedBytes },
    outcome: "infra_error",
    suggestion: "Do not repeat it: read its effect, or raise the limit that data.limit names.",
  });
}
