import type { Clock } from "../../core/clock.ts";
import type { InputCounts, SessionDesktop, StreamRequest, StreamUrl } from "../../core/desktop.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { Actor } from "../../core/events.ts";
import type { EventBus } from "../bus.ts";
import type { EngineLimits } from "../limits.ts";
import { emitFor } from "../record-events.ts";
import type { SessionRecord } from "../session-record.ts";
import type { Caller } from "../session-table.ts";
import { desktopOf } from "./desktop-of.ts";
import { InputSummary } from "./input-summary.ts";

export interface DesktopsDeps {
  readonly clock: Clock;
  readonly limits: EngineLimits;
  readonly bus: EventBus;
}

/** Makes a ticket for whoever asked, and says where it is used; set by the door that serves it. */
export type ToStreamUrl = (
  record: SessionRecord,
  caller: Caller,
  request: StreamRequest & { readonly viewOnly: boolean },
) => StreamUrl;

interface Watched {
  viewers: number;
  readonly input: InputSummary;
}

/** Who watches the desktops of sessions, and what they do there. */
export class Desktops {
  readonly #deps: DesktopsDeps;
  readonly #watched = new WeakMap<SessionRecord, Watched>();
  toStreamUrl: ToStreamUrl | undefined;

  constructor(deps: DesktopsDeps) {
    this.#deps = deps;
  }

  /**
   * Lets one more viewer in.
   *
   * @returns how to leave, with what passed.
   * @throws ToolyardError `overloaded` when as many watch as may.
   */
  enter(record: SessionRecord, viewOnly: boolean): (bytes: { readonly in: number; readonly out: number }) => void {
    const { desktopViewers: maximum } = this.#deps.limits;
    const watched = this.#of(record);
    if (watched.viewers >= maximum) {
      throw new ToolyardError("overloaded", `A desktop may have ${maximum} viewers`, {
        details: { limit: "desktop_viewers", maximum },
      });
    }
    watched.viewers += 1;
    emitFor(this.#deps, "desktop.attached", record, { view_only: viewOnly }, "human");
    return (bytes) => {
      watched.viewers -= 1;
      watched.input.flush();
      emitFor(this.#deps, "desktop.detached", record, { bytes_in: bytes.in, bytes_out: bytes.out }, "human");
    };
  }

  viewers(record: SessionRecord): number {
    return this.#watched.get(record)?.viewers ?? 0;
  }

  /** Notes what somebody did. */
  did(record: SessionRecord, actor: Actor, kind: keyof InputCounts): void {
    this.#of(record).input.add(actor, kind);
  }

  /** Ends the agent's input at a session's desktop, if it has one that runs. */
  releaseInput(record: SessionRecord, reason: ToolyardError): void {
    let desktop: SessionDesktop | undefined;
    try {
      if (record.mount?.backend.desktop !== undefined && record.initialized) desktop = desktopOf(record);
    } catch {
      // It is stopped, and holds nothing.
    }
    desktop?.releaseInput(reason);
  }

  /** @throws ToolyardError `runtime_unavailable`, `overloaded` */
  open(record: SessionRecord, caller: Caller, { viewOnly = true, ...request }: StreamRequest): StreamUrl {
    desktopOf(record);
    if (this.toStreamUrl === undefined) {
      throw new ToolyardError("runtime_unavailable", "Nothing serves the desktops of this server to viewers");
    }
    return this.toStreamUrl(record, caller, { ...request, viewOnly });
  }

  #of(record: SessionRecord): Watched {
    let watched = this.#watched.get(record);
    if (watched === undefined) {
      const input = new InputSummary(this.#deps.clock, (actor, counts) => {
        emitFor(this.#deps, "desktop.input", record, { ...counts }, actor);
      });
      record.onEnding.add(() => input.flush());
      this.#watched.set(record, (watched = { viewers: 0, input }));
    }
    return watched;
  }
}
