import { type Store, StoreError, type StoreFailure } from "../../src/core/store.ts";

type Part = "events" | "idempotency" | "jobs" | "sessions" | "keys" | "audit";

/** An operation by its name, as in `events.append`; `close` is the store's own. */
export type Operation = { [P in Part]: `${P}.${Extract<keyof Store[P], string>}` }[Part] | "close";

/**
 * What goes wrong. `fail` does nothing and rejects. `lose` does it and rejects all the same, as a connection that breaks before the
 * answer. `hold` waits for the promise first. `hang` never settles, nor does anything.
 */
export type Fault =
  | { readonly kind: "fail"; readonly reason?: StoreFailure; readonly message?: string }
  | { readonly kind: "lose" }
  | { readonly kind: "hold"; readonly until: Promise<unknown> }
  | { readonly kind: "hang" };

/** A full disk. */
export const DISK_FULL: Fault = { kind: "fail", reason: "full", message: "The disk is full." };

interface Script {
  readonly fault: Fault;
  left: number;
}

/** A store that misbehaves as scripted, and otherwise does what the one inside does. */
export interface FaultyStore extends Store {
  /** Lets the next operations of this name meet a fault, after those scripted before; 1 unless told, `Infinity` until `heal`. */
  inject(operation: Operation, fault: Fault, times?: number): void;
  /** Forgets the faults of an operation, or all. What hangs stays so. */
  heal(operation?: Operation): void;
  /** How often an operation was asked for, with or without a fault. */
  count(operation: Operation): number;
}

/** Wraps any store. */
export function createFaultyStore(inner: Store): FaultyStore {
  const scripts = new Map<string, Script[]>();
  const counts = new Map<string, number>();

  const nextFault = (operation: string): Fault | null => {
    counts.set(operation, (counts.get(operation) ?? 0) + 1);
    const [script] = scripts.get(operation) ?? [];
    if (script === undefined) return null;
    script.left -= 1;
    if (script.left <= 0) scripts.get(operation)?.shift();
    return script.fault;
  };

  const meet = async (operation: string, work: () => Promise<unknown>): Promise<unknown> => {
    const fault = nextFault(operation);
    if (fault === null) return await work();
    if (fault.kind === "hang") return await new Promise(() => {});
    if (fault.kind === "hold") {
      await fault.until;
      return await work();
    }
    if (fault.kind === "lose") await work();
    const reason = fault.kind === "fail" ? (fault.reason ?? "failed") : "failed";
    const message = fault.kind === "fail" ? fault.message : "The connection broke before the answer came.";
    throw new StoreError(reason, message ?? `Injected: ${operation} failed.`);
  };

  const wrap = <P extends Part>(part: P): Store[P] =>
    new Proxy(inner[part], {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        return (...values: unknown[]) =>
          meet(`${part}.${String(name)}`, () => Reflect.apply(method, target, values) as Promise<unknown>); // All are async.
      },
    });

  return {
    name: inner.name,
    durable: inner.durable,
    events: wrap("events"),
    idempotency: wrap("idempotency"),
    jobs: wrap("jobs"),
    sessions: wrap("sessions"),
    keys: wrap("keys"),
    audit: wrap("audit"),
    async close() {
      await meet("close", () => inner.close());
    },
    inject(operation, fault, times = 1) {
      scripts.set(operation, [...(scripts.get(operation) ?? []), { fault, left: times }]);
    },
    heal(operation) {
      if (operation === undefined) scripts.clear();
      else scripts.delete(operation);
    },
    count: (operation) => counts.get(operation) ?? 0,
  };
}
