import type { Admission } from "./admission.ts";
import type { Ticket } from "./admission-lane.ts";
import type { Call } from "./call.ts";
import type { ResourceRouter } from "./router.ts";
import type { SerialQueue } from "./serial-queue.ts";
import type { Lease } from "./session-request.ts";

/**
 * Brings a call to where its tool may run: a slot, a warm backend, its session and the turn in it.
 *
 * - In a session that is there, the session is leased first, so that it lives while the call waits. Whoever waits for
 *   its initialize or its turn holds no slot; slot and turn are given together.
 * - Where a session must be made, the slot comes first: to initialize one is work, and a full server starts none. The slot
 *   is kept during the initialize, and in the rare case that another call took the turn meanwhile, until that one leaves.
 * - A call that a running tool makes runs under that tool's slot: to wait for another one could wait for itself.
 */
export class Preparation {
  readonly #router: ResourceRouter;
  readonly #admission: Admission;

  constructor(router: ResourceRouter, admission: Admission) {
    this.#router = router;
    this.#admission = admission;
  }

  /** Returns `undefined` when nothing had to be waited for; throws, or rejects, with what may be answered. */
  prepare(call: Call): Promise<void> | undefined {
    const undo = (error: unknown) => {
      call.leave();
      throw error;
    };
    try {
      if (call.deadline.ended !== undefined) throw call.deadline.ended;
      return this.#prepare(call)?.catch(undo);
    } catch (error) {
      return undo(error);
    }
  }

  #prepare(call: Call): Promise<void> | undefined {
    const admitted = call.request.within?.admitted === true;
    if (!call.entry.sessions) return this.#warmUp(call, admitted);
    return admitted ? this.#enterSession(call) : this.#join(call);
  }

  #warmUp(call: Call, admitted: boolean): Promise<void> | undefined {
    const lifecycle = this.#router.lifecycle(call.entry.mount.resource);
    if (lifecycle === undefined || lifecycle.warm) return admitted ? undefined : this.#takeSlot(call);
    if (admitted) return lifecycle.warmUp(call.deadline);
    const ticket = this.#admission.queue(call.request.caller, call.entry.mount.resource);
    return this.#whileQueued(ticket, lifecycle.warmUp(call.deadline)).then(() => this.#wait(call, ticket));
  }

  /** Goes into the worker's session, if it has one. */
  #join(call: Call): Promise<void> | undefined {
    const { caller, sessionId } = call.request;
    const { mount } = call.entry;
    const record = this.#router.find(caller, mount.resource);
    if (record === undefined && sessionId === undefined) return this.#makeSession(call);
    const leasing = this.#router.acquire(mount, caller, call, { deadline: call.deadline, sessionId });
    if (leasing instanceof Promise) return this.#joinWhenReady(call, leasing);
    call.lease = leasing;
    return this.#takeSlot(call, leasing.record.turns);
  }

  async #joinWhenReady(call: Call, leasing: Promise<Lease>): Promise<void> {
    let ticket: Ticket;
    try {
      ticket = this.#admission.queue(call.request.caller, call.entry.mount.resource);
    } catch (error) {
      // Nobody waits for the lease that may still come.
      leasing.then(
        (lease) => lease.release(),
        () => undefined,
      );
      throw error;
    }
    const lease = await this.#whileQueued(ticket, leasing);
    call.lease = lease;
    await this.#wait(call, ticket, lease.record.turns);
  }

  #makeSession(call: Call): Promise<void> | undefined {
    const waiting = this.#takeSlot(call);
    return waiting === undefined ? this.#enterSession(call) : waiting.then(() => this.#enterSession(call));
  }

  /** Leases the worker's session, making it if there is none, and takes the turn; a slot is held already. */
  #enterSession(call: Call): Promise<void> | undefined {
    const { deadline, entry, request } = call;
    // The slot may have come in the same moment as the end.
    if (deadline.ended !== undefined) throw deadline.ended;
    const { caller, sessionId } = request;
    const held = request.within?.held(entry.mount.resource);
    const leasing = this.#router.acquire(entry.mount, caller, call, { deadline, sessionId, held });
    if (leasing instanceof Promise) return leasing.then((lease) => this.#takeTurn(call, lease));
    return this.#takeTurn(call, leasing);
  }

  #takeTurn(call: Call, lease: Lease): Promise<void> | undefined {
    call.lease = lease;
    const { record } = lease;
    const { within } = call.request;
    if (record.temporary) within?.keep(record, (holder) => this.#router.lease(record, holder));
    const holder = within?.holder(record.resource);
    // A tool that calls into its own session has the turn already; its calls keep their own order inside it.
    const isInner = holder !== undefined && holder.lease?.record === record;
    const turns = record.turns === undefined ? undefined : isInner ? holder.innerTurns : record.turns;
    if (turns === undefined) return undefined;
    if (!turns.tryEnter()) return turns.enter(call.deadline).then(() => void (call.turns = turns));
    call.turns = turns;
    return undefined;
  }

  #takeSlot(call: Call, turns?: SerialQueue): Promise<void> | undefined {
    const { caller } = call.request;
    const { resource } = call.entry.mount;
    call.slot = this.#admission.tryEnter(caller, resource, turns);
    if (call.slot === undefined) return this.#wait(call, this.#admission.queue(caller, resource), turns);
    call.turns = turns;
    return undefined;
  }

  async #wait(call: Call, ticket: Ticket, turns?: SerialQueue): Promise<void> {
    await this.#admission.enter(ticket, turns, call.deadline);
    call.slot = ticket;
    call.turns = turns;
  }

  /** Waits for something else while the ticket counts among those that wait. */
  async #whileQueued<T>(ticket: Ticket, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      this.#admission.withdraw(ticket);
      throw error;
    }
  }
}
