import type { TerminalMark } from "../../core/terminal.ts";
import type { RecordedTerminal, TerminalRecordings } from "../../core/terminal-recordings.ts";
import type { EngineLimits } from "../limits.ts";
import { Asciicast } from "./asciicast.ts";

/** Where a session's terminals are recorded, and under whose name. */
export interface RecordingPlace {
  readonly recordings: TerminalRecordings;
  readonly owner: Omit<RecordedTerminal, "terminalId">;
}

/** A recording that is under way. */
export interface BegunRecording {
  readonly cast: Asciicast;
  /** Nothing more will come. */
  end(): void;
}

/** Begins to record a terminal: in memory for its session, and where recordings are kept, if they are. */
export function beginRecording(
  { id, columns, rows, command }: TerminalMark,
  startedAt: Date,
  { terminalRecordingBytes: maxBytes }: EngineLimits,
  place: RecordingPlace | undefined,
): BegunRecording {
  const head = { columns, rows, startedAt, title: command.join(" ").slice(0, 200) };
  if (place === undefined) return { cast: new Asciicast(head, maxBytes), end: () => undefined };
  const { recordings, owner } = place;
  const file = recordings.open({ ...owner, terminalId: id }, startedAt);
  const { tenant, workerId, sessionId, resource } = owner;
  const toolyard = { tenant, worker_id: workerId, session_id: sessionId, resource, terminal_id: id };
  const cast = new Asciicast({ ...head, toolyard }, maxBytes, (line) => file.append(line));
  return { cast, end: () => file.end() };
}
