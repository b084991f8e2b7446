import type { Actor } from "../../core/events.ts";
import type { ProcessLog } from "../../core/sandbox-process.ts";
import type { SessionTerminals, TerminalText } from "../../core/terminal.ts";
import type { EventOrigin } from "../record-events.ts";
import type { SessionRecord } from "../session-record.ts";
import { EmulationPace } from "./emulation-pace.ts";
import { SessionTerminalSet, type TerminalSetDeps } from "./session-terminal-set.ts";

/** How a caller of the terminals stands to them. */
export interface TerminalCaller {
  /** Says who makes an input, or throws `control_taken`. */
  readonly demand: () => Actor;
  /** What events of theirs name. */
  readonly origin: EventOrigin;
}

const DEFAULT_READ_BYTES = 65_536;
/** How long the answer to an input waits for the program to have taken it. */
const WRITE_WAIT_MS = 2_000;

/** The terminals of all sessions. */
export class Terminals {
  readonly #deps: TerminalSetDeps;
  readonly #sets = new WeakMap<SessionRecord, SessionTerminalSet>();

  constructor(deps: Omit<TerminalSetDeps, "pace">) {
    this.#deps = { ...deps, pace: new EmulationPace(deps.clock) };
  }

  of(record: SessionRecord): SessionTerminalSet {
    let set = this.#sets.get(record);
    if (set === undefined) this.#sets.set(record, (set = new SessionTerminalSet(record, this.#deps)));
    return set;
  }

  /** The terminals of a session, for a caller. */
  for(record: SessionRecord, { demand, origin }: TerminalCaller): SessionTerminals {
    const set = this.of(record);
    const { clock } = this.#deps;
    return {
      start: async (request, signal) => (await set.start(request, signal, origin)).status,
      async stop(id) {
        const actor = demand();
        const terminal = await set.get(id);
        terminal.stoppedBy = actor;
        await terminal.stop("stopped");
        return terminal.status;
      },
      list: async () => (await set.list()).map(({ status }) => status),
      async write(id, data) {
        const terminal = await set.get(id);
        // Looked at last, so that nobody takes control between the look and the input.
        const actor = demand();
        const written = terminal.write(data);
        set.typed(terminal, actor, data.length);
        let cancelTimer: () => void = () => undefined;
        const patience = new Promise<void>((resolve) => (cancelTimer = clock.after(WRITE_WAIT_MS, resolve)));
        await Promise.race([written, patience]).finally(cancelTimer);
        written.catch(() => undefined);
        return terminal.status;
      },
      async read(id, { cursor, maxBytes = DEFAULT_READ_BYTES, waitMs = 0, signal }) {
        const terminal = await set.get(id);
        return { id: terminal.id, ...toText(await terminal.read({ cursor, maxBytes, waitMs, signal })) };
      },
      async screen(id, cursor = 0) {
        const terminal = await set.get(id);
        return { id: terminal.id, ...(await terminal.screen(cursor)) };
      },
      async resize(id, columns, rows) {
        const terminal = await set.get(id);
        demand();
        await terminal.resize(columns, rows);
        return terminal.status;
      },
      async recording(id) {
        const terminal = await set.get(id);
        return { id: terminal.id, ...terminal.recording() };
      },
    };
  }
}

/** Leaves a character that is cut at the end to the next read. */
function toText({ chunks, cursor, skipped, ended }: ProcessLog): TerminalText {
  const data = Buffer.concat(chunks.map((chunk) => chunk.data));
  const cut = ended ? 0 : cutBytes(data);
  const text = data.subarray(0, data.length - cut).toString("utf8");
  return { text, cursor: cursor - cut, skippedBytes: skipped, ended };
}

/** How many bytes at the end are the start of a character. */
function cutBytes(data: Buffer): number {
  for (let back = 1; back <= Math.min(3, data.length); back += 1) {
    const byte = data[data.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
  }
  return 0;
}
