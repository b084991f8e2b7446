import type { SessionDesktop } from "../core/desktop.ts";
import { ToolyardError } from "../core/errors.ts";
import type { SandboxInstance } from "../core/runtime.ts";
import type { Clock } from "../core/clock.ts";
import { type CancelSource, settlesWithin } from "./deadline.ts";
import type { ResourceRouter } from "./router.ts";
import { desktopOf } from "./desktops/desktop-of.ts";
import { sandboxOf } from "./sandbox-of.ts";
import type { LeaseHolder, SessionRecord } from "./session-record.ts";
import type { Lease } from "./session-request.ts";

/** What is borrowed, and by whom. */
export interface LoanRequest {
  readonly tenant: string;
  /** The session itself, or whose live one. */
  readonly session: { readonly id: string } | { readonly workerId: string; readonly resource: string };
  /** Throws for a resource that the caller may do nothing with; asked once it is known that the session is the tenant's. */
  readonly authorize: (resource: string) => void;
  /** Ends the loan: the client went away. */
  readonly client: CancelSource;
  /** A `transfer` is let to its end when the session is to end; a `connection` has no end of its own and is cut. */
  readonly kind: "transfer" | "connection";
  /** What the session must have; a sandbox by default. */
  readonly needs?: keyof typeof FINDERS;
}

/** What is borrowed with a session, by the name of its backend's own member. */
const FINDERS = { sandbox: sandboxOf, desktop: desktopOf };

/** The sandbox or the desktop of a session, in use beside its calls: the session is not cleaned up before `end`. */
export class SandboxLoan implements LeaseHolder {
  readonly record: SessionRecord;
  readonly kind: LoanRequest["kind"];
  readonly #controller = new AbortController();
  readonly #release: (() => void)[] = [];

  constructor(lease: Lease, kind: LoanRequest["kind"]) {
    this.record = lease.record;
    this.kind = kind;
    this.#release.push(() => lease.release());
  }

  /** @throws ToolyardError `invalid_input` when the session has none; `sandbox_dead`. */
  get sandbox(): SandboxInstance {
    return sandboxOf(this.record);
  }

  /** @throws ToolyardError `invalid_input` when the session has none; `conflict` while it is stopped. */
  get desktop(): SessionDesktop {
    return desktopOf(this.record);
  }

  /** Aborted when what uses the sandbox must end: its client, its session or the server does. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Says why, as of the first reason. */
  cancel(reason: ToolyardError): void {
    this.#controller.abort(reason);
  }

  /** Gives the sandbox back; further ends change nothing. */
  end(): void {
    for (const release of this.#release.splice(0)) release();
  }

  /** Does something once the loan is over. */
  onEnd(callback: () => void): void {
    this.#release.push(callback);
  }
}

/**
 * Lends the sandboxes and desktops of sessions to what is no call: files, ports, terminals, viewers.
 *
 * A loan leases its session as a call does, without a slot and without a turn, and so moves its expiry.
 */
export class SandboxLoans {
  readonly #router: ResourceRouter;
  readonly #clock: Clock;
  readonly #open = new Set<SandboxLoan>();
  #closed = false;
  #onIdle: (() => void) | undefined;

  constructor(router: ResourceRouter, clock: Clock) {
    this.#router = router;
    this.#clock = clock;
  }

  get count(): number {
    return this.#open.size;
  }

  /**
   * Borrows a sandbox; whoever gets it must `end` the loan.
   *
   * @throws ToolyardError session_not_found, session_expired or session_lost; what `authorize` throws; invalid_input for a
   * resource without sandboxes; sandbox_dead; conflict; shutting_down.
   */
  async borrow(request: LoanRequest): Promise<SandboxLoan> {
    if (this.#closed) throw stopping();
    const record = await this.#find(request);
    request.authorize(record.resource);
    const { mount, id, tenant, workerId } = record;
    // Checked before the wait: it may be long.
    const { needs = "sandbox" } = request;
    if (mount?.backend[needs] === undefined) FINDERS[needs](record);
    if (mount === undefined) throw stopping();
    // Replaced by the loan itself once there is one.
    const holder: { cancel: LeaseHolder["cancel"] } = { cancel: () => undefined };
    const lease = await this.#router.acquire(
      mount,
      { tenant, workerId },
      { cancel: (reason) => holder.cancel(reason) },
      { deadline: request.client, sessionId: id },
    );
    return this.#lend(request, lease, (loan) => (holder.cancel = (reason) => loan.cancel(reason)));
  }

  /** Lends nothing more, cuts off connections, and transfers that have not ended by `drainMs`. */
  async drain(drainMs: number): Promise<void> {
    this.#closed = true;
    for (const loan of [...this.#open]) if (loan.kind === "connection") loan.cancel(stopping());
    if (this.#open.size === 0) return;
    const idle = new Promise<void>((resolve) => (this.#onIdle = resolve));
    await settlesWithin(this.#clock, idle, drainMs);
    this.cancelAll();
  }

  /** Cuts off every transfer and connection, as the server must stop now. */
  cancelAll(): void {
    for (const loan of [...this.#open]) loan.cancel(stopping());
  }

  #lend(
    { client, kind, needs = "sandbox" }: LoanRequest,
    lease: Lease,
    onLoan: (loan: SandboxLoan) => void,
  ): SandboxLoan {
    const { record } = lease;
    try {
      FINDERS[needs](record);
      const loan = new SandboxLoan(lease, kind);
      onLoan(loan);
      const over = () => loan.cancel(new ToolyardError("cancelled", `The session ${record.id} has ended`));
      if (kind === "connection") {
        record.onEnding.add(over);
        loan.onEnd(() => record.onEnding.delete(over));
        if (record.ending) over();
      }
      if (client.ended !== undefined) loan.cancel(client.ended);
      else loan.onEnd(client.onEnd(() => loan.cancel(client.ended ?? stopping())));
      this.#open.add(loan);
      loan.onEnd(() => this.#ended(loan));
      if (this.#closed) loan.cancel(stopping());
      return loan;
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  #ended(loan: SandboxLoan): void {
    this.#open.delete(loan);
    if (this.#open.size === 0) this.#onIdle?.();
  }

  async #find({ tenant, session }: LoanRequest): Promise<SessionRecord> {
    if ("id" in session) return this.#router.findById(tenant, session.id);
    const record = this.#router.find({ tenant, workerId: session.workerId }, session.resource);
    if (record !== undefined) return record;
    throw new ToolyardError("session_not_found", `The worker has no ${session.resource} session`, {
      details: { resource_type: session.resource },
    });
  }
}

function stopping(): ToolyardError {
  return new ToolyardError("shutting_down", "The server is stopping");
}
