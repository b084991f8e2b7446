import type { Clock } from "../core/clock.ts";
import type { SessionControl } from "../core/control.ts";
import type { SessionStreams } from "../core/desktop.ts";
import type { Actor, EventData, ToldByTools } from "../core/events.ts";
import type { SessionPorts } from "../core/exposed-port.ts";
import type { SessionTerminals } from "../core/terminal.ts";
import type { EventBus } from "./bus.ts";
import type { Call } from "./call.ts";
import { CallEvents } from "./call-events.ts";
import type { ControlLeases } from "./control-leases.ts";
import type { Desktops } from "./desktops/desktops.ts";
import type { EventOrigin } from "./record-events.ts";
import type { ExposedPorts } from "./session-ports.ts";
import type { SessionRecord } from "./session-record.ts";
import { checkTold } from "./told-events.ts";
import type { Terminals } from "./terminals/terminals.ts";

export interface SessionServicesDeps {
  readonly bus: EventBus;
  readonly clock: Clock;
  readonly ports: ExposedPorts;
  readonly terminals: Terminals;
  readonly desktops: Desktops;
  readonly leases: ControlLeases;
}

/** What the engine keeps beside a session, as the tools of a call in it see it. */
export class SessionServices {
  readonly #deps: SessionServicesDeps;
  readonly #events: CallEvents;

  constructor(deps: SessionServicesDeps) {
    this.#deps = deps;
    this.#events = new CallEvents(deps.bus, deps.clock);
  }

  ports(record: SessionRecord): SessionPorts {
    return this.#deps.ports.of(record);
  }

  terminals(record: SessionRecord, call: Call): SessionTerminals {
    const demand = () => this.#demand(record, call);
    return this.#deps.terminals.for(record, { demand, origin: this.#originOf(record, call) });
  }

  streams(record: SessionRecord, { request }: Call): SessionStreams {
    const { desktops } = this.#deps;
    return {
      open: (wanted) => desktops.open(record, request.caller, wanted),
      get viewers() {
        return desktops.viewers(record);
      },
    };
  }

  control(record: SessionRecord, call: Call): SessionControl {
    const { leases } = this.#deps;
    return {
      demand: () => this.#demand(record, call),
      get holder() {
        return leases.holderOf(record);
      },
    };
  }

  /**
   * Tells an event that a tool made up, if it is one of those that tools may tell.
   *
   * @throws ToolyardError invalid_input
   */
  tell<T extends ToldByTools>(call: Call, type: T, data: EventData[T]): void {
    checkTold(type);
    this.#events.told(call, type, data);
  }

  #demand(record: SessionRecord, call: Call): Actor {
    const actor = this.#deps.leases.demand(record, leaseOf(call.request), "agent");
    if (actor === "human") call.actor = actor;
    return actor;
  }

  #originOf(record: SessionRecord, { id, traceId, request }: Call): EventOrigin {
    const actor = this.#deps.leases.isHeldBy(record, leaseOf(request)) ? "human" : "agent";
    return { actor, callId: id, traceId, parentId: request.within?.id };
  }
}

/** What a call's own tools call is done under the same lease. */
function leaseOf(request: Call["request"]): string | undefined {
  return request.controlLease ?? (request.within === undefined ? undefined : leaseOf(request.within.request));
}
