import type { Verb } from "../core/scopes.ts";
import type { Engine } from "../engine/engine.ts";
import type { LoanRequest, SandboxLoan } from "../engine/sandbox-loans.ts";
import { demand, type Identity } from "./auth/identity.ts";
import { ClientWait, type Departing } from "./disconnect.ts";

/** What a request says of the session that it is about. */
export interface NamesSession {
  readonly identity: Identity;
  /** With a `session_id`. */
  readonly path: Readonly<Record<string, string>>;
}

export interface BorrowNamedOptions extends Pick<LoanRequest, "kind" | "needs"> {
  /** What the caller must be allowed to do on the session's resource. */
  readonly verb: Verb;
  /** Ends the loan when it goes. */
  readonly client: Departing;
}

/** Borrows the sandbox or the desktop of the session that a request's path names; the loan must be ended. */
export function borrowNamed(
  engine: Engine,
  { identity, path }: NamesSession,
  { verb, client, ...what }: BorrowNamedOptions,
): Promise<SandboxLoan> {
  return engine.loans.borrow({
    tenant: identity.tenant,
    session: { id: path["session_id"] ?? "" },
    authorize: (resource) => demand(identity, verb, resource),
    client: new ClientWait(client),
    ...what,
  });
}
