import { ToolyardError } from "../core/errors.ts";
import type { EventType } from "../core/events.ts";
import type { EventFilter } from "../core/store.ts";
import { checkName } from "./caller.ts";
import { unknownChoice } from "./query-names.ts";

/** What a reader of the event log asks for. */
export interface EventQuery {
  readonly filter: Omit<EventFilter, "tenant">;
  readonly format: (typeof FORMATS)[number];
  readonly after: string | null;
  readonly limit: string | null;
}

const FORMATS = ["sse", "json"] as const;

/** Each parameter by every name that it goes by; a ticket is the door's. */
const NAMES: Readonly<Record<string, string>> = {
  worker: "worker",
  worker_id: "worker",
  session: "session",
  session_id: "session",
  run: "run",
  trace_id: "run",
  project: "project",
  type: "type",
  after: "after",
  format: "format",
  limit: "limit",
  ticket: "ticket",
};

/** Every type of event, and whether the log has any to show: output is for who streams the call, a hole is shown as `gap`. */
const SHOWN = {
  "session.created": true,
  "session.ended": true,
  "session.failed": true,
  "call.started": true,
  "call.progress": true,
  "call.output": false,
  "call.completed": true,
  "call.failed": true,
  "call.cancelled": true,
  "call.abandoned": true,
  "port.exposed": true,
  "port.closed": true,
  "port.connected": true,
  "port.disconnected": true,
  "file.uploaded": true,
  "file.downloaded": true,
  "file.deleted": true,
  sandbox_created: true,
  sandbox_terminated: true,
  command_executed: true,
  terminal_started: true,
  terminal_stopped: true,
  desktop_started: true,
  desktop_stopped: true,
  "desktop.action": true,
  "desktop.input": true,
  "desktop.attached": true,
  "desktop.detached": true,
  "recording.started": true,
  "recording.stopped": true,
  "terminal.input": true,
  "terminal.attached": true,
  "terminal.detached": true,
  "control.taken": true,
  "control.released": true,
  "backend.health": false,
  "loop.blocked": true,
  "log.gap": false,
} satisfies Record<EventType, boolean>;
const TYPES = Object.entries(SHOWN).flatMap(([type, shown]) => (shown ? [type] : []));

const MAX_TYPES = 64;

/**
 * Reads a query of the event log, in which nothing is ignored: a filter with a wrong name would let everything through.
 *
 * @throws ToolyardError invalid_input for a parameter, event type or format that there is not, or one given twice.
 */
export function parseEventQuery(query: URLSearchParams): EventQuery {
  const values = new Map<string, string>();
  for (const [given, value] of query) {
    const name = Object.hasOwn(NAMES, given) ? NAMES[given] : undefined;
    if (name === undefined) throw unknownChoice("parameter", given, Object.keys(NAMES));
    if (values.has(name)) throw new ToolyardError("invalid_input", `${name} is given twice`);
    values.set(name, value);
  }
  const read = (name: string) => {
    const value = values.get(name);
    return value === undefined ? undefined : checkName(name, value);
  };
  const format = values.get("format") ?? "sse";
  const known = FORMATS.find((one) => one === format);
  if (known === undefined) throw unknownChoice("format", format, FORMATS);
  return {
    filter: {
      worker_id: read("worker"),
      session_id: read("session"),
      trace_id: read("run"),
      project: read("project"),
      types: toTypes(values),
    },
    format: known,
    after: values.get("after") ?? null,
    limit: values.get("limit") ?? null,
  };
}

function toTypes(values: ReadonlyMap<string, string>): readonly string[] | undefined {
  const types = values
    .get("type")
    ?.split(",")
    .filter((type) => type !== "");
  if (types === undefined) return undefined;
  if (types.length > MAX_TYPES) throw new ToolyardError("invalid_input", `type takes at most ${MAX_TYPES} types`);
  for (const type of types) if (!TYPES.includes(type)) throw unknownChoice("event type", type, TYPES);
  return types;
}
