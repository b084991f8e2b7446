import type { Duplex } from "node:stream";
import { ToolyardError } from "../../../core/errors.ts";
import { ClientWait, type Departing } from "../../disconnect.ts";
import type { Engine } from "../../../engine/engine.ts";
import { emitFor } from "../../../engine/record-events.ts";
import type { SandboxLoan } from "../../../engine/sandbox-loans.ts";
import { unable } from "../../../engine/sandbox-of.ts";
import type { PortVisit } from "./port-door.ts";

/** How long a port may take to be connected to. */
const CONNECT_MS = 10_000;

/** A connection to a port, with the loan that keeps its session. */
export interface PortLink {
  readonly loan: SandboxLoan;
  readonly duplex: Duplex;
}

/**
 * Borrows the sandbox behind a visit and connects to its port; the loan must be ended.
 *
 * The loan's signal is aborted when the way in closes, too.
 *
 * @throws ToolyardError session_not_found …; upstream_failed with 502 when nothing listens.
 */
export async function openLink(engine: Engine, visit: PortVisit, client: Departing): Promise<PortLink> {
  const { tenant, sessionId, authorize, way, port } = visit;
  const loan = await engine.loans.borrow({
    tenant,
    session: { id: sessionId },
    authorize,
    client: new ClientWait(client),
    kind: "connection",
  });
  try {
    if (way !== undefined) cutOffWith(loan, way.onClose);
    if (loan.sandbox.connect === undefined) throw unable(loan.record, "connections to its ports");
    const signal = AbortSignal.any([loan.signal, AbortSignal.timeout(CONNECT_MS)]);
    const duplex = await loan.sandbox.connect(port, signal).catch((error: unknown) => {
      throw toConnectError(error, port, loan);
    });
    // What is cut off later says so to whoever reads or writes it; nobody else need hear.
    duplex.on("error", () => undefined);
    const cut = () => duplex.destroy();
    if (loan.signal.aborted) cut();
    loan.signal.addEventListener("abort", cut);
    loan.onEnd(cut);
    return { loan, duplex };
  } catch (error) {
    loan.end();
    throw error;
  }
}

/** Tells the event log that somebody came in. */
export function tellVisit(
  engine: Engine,
  { loan }: PortLink,
  { way, port }: PortVisit,
  protocol: "http" | "websocket",
): void {
  if (protocol === "http" && way?.visited !== false) return;
  if (way !== undefined) way.visited = true;
  emitFor(engine, "port.connected", loan.record, { port, protocol }, "human");
}

function cutOffWith(loan: SandboxLoan, closing: Set<() => void>): void {
  const cut = () => loan.cancel(new ToolyardError("cancelled", "The port is not exposed any more"));
  closing.add(cut);
  loan.onEnd(() => closing.delete(cut));
}

function toConnectError(error: unknown, port: number, loan: SandboxLoan): ToolyardError {
  if (loan.signal.aborted && ToolyardError.is(loan.signal.reason)) return loan.signal.reason;
  if (ToolyardError.is(error) && ["sandbox_dead", "runtime_unavailable"].includes(error.error)) return error;
  return new ToolyardError("upstream_failed", `Nothing in the sandbox answers on port ${port}`, {
    status: 502,
    outcome: "tool_error",
    suggestion: "Start the server in the sandbox first; it must listen on the sandbox's loopback.",
    cause: error,
  });
}
