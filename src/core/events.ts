import type { InputCounts } from "./desktop.ts";

/** Each kind of event, noun first, with its facts. */
export interface EventData {
  /** `adopted` when it is one of the last server's, with its state. */
  "session.created": { readonly temporary: boolean; readonly adopted?: true };
  "session.ended": { readonly reason: string };
  "session.failed": { readonly error: string; readonly message: string };
  "call.started": { readonly action: string };
  /** What the tool reported, cut down where it is too large for an event. */
  "call.progress": Readonly<Record<string, unknown>>;
  /** What the tool's work wrote. Kept only where the log is told to. */
  "call.output": { readonly stream: string; readonly text: string };
  "call.completed": { readonly action: string; readonly outcome: string; readonly execution_time_ms: number | null };
  "call.failed": CallFailureData;
  "call.cancelled": CallFailureData;
  /** A tool ignored its signal and may still be working. */
  "call.abandoned": Readonly<Record<never, never>>;
  /** A port of the session's sandbox can be reached from outside until `expires_at`. */
  "port.exposed": { readonly id: string; readonly port: number; readonly expires_at: string };
  /** `revoked`, `expired` or `session_ended`. */
  "port.closed": { readonly id: string; readonly port: number; readonly reason: string };
  /** Somebody came through an exposed port: the first request, or a WebSocket. */
  "port.connected": { readonly port: number; readonly protocol: "http" | "websocket" };
  /** A WebSocket through an exposed port is over. */
  "port.disconnected": { readonly port: number; readonly bytes_in: number; readonly bytes_out: number };
  /** What passed between a client and the sandbox beside any call; `archive` names the format of a folder. */
  "file.uploaded": FileTransferData;
  "file.downloaded": FileTransferData;
  "file.deleted": { readonly path: string };
  /** A session's sandbox has been made. */
  sandbox_created: {
    readonly sandbox_id: string;
    readonly runtime: string;
    readonly isolation: string;
    readonly image: string | null;
  };
  /** Why its session ended, as in `session.ended`. */
  sandbox_terminated: { readonly sandbox_id: string; readonly reason: string };
  /** A shell command has ended, or was started in the background. */
  command_executed: {
    readonly sandbox_id: string;
    /** Cut at 1,000 characters. */
    readonly command: string;
    readonly background: boolean;
    /** `null` in the background, and for what a signal ended. */
    readonly exit_code: number | null;
    readonly duration_ms: number | null;
  };
  terminal_started: {
    readonly sandbox_id: string;
    readonly terminal_id: string;
    /** The path of its WebSocket. */
    readonly url: string;
    readonly command: readonly string[];
    readonly pid: number;
    readonly columns: number;
    readonly rows: number;
  };
  /** `exited`, `stopped`, `idle`, `session_ended` or `lost`. */
  terminal_stopped: {
    readonly sandbox_id: string;
    readonly terminal_id: string;
    readonly reason: string;
    readonly exit_code: number | null;
    readonly signal: string | null;
  };
  desktop_started: {
    readonly sandbox_id: string;
    /** The path of its WebSocket; `null` where it cannot be watched. */
    readonly url: string | null;
    readonly display: string;
    /** `1280x800`. */
    readonly resolution: string;
    /** Where it can be reached directly; `null` where it cannot. */
    readonly port: number | null;
  };
  desktop_stopped: { readonly sandbox_id: string; readonly reason: string };
  /** An action at a desktop, by its event's actor; never what was typed. `index` counts those of the session from 1. */
  "desktop.action": {
    readonly index: number;
    readonly action: string;
    /** Where the pointer is after it, in pixels of the screen; `null` for what is no action of mouse, keys or screen. */
    readonly position: readonly [number, number] | null;
    /** `ok`, or the outcome of its error. */
    readonly outcome: string;
    readonly duration_ms: number;
    /** The SHA-256 of the settled screen after it, where a recording keeps them. */
    readonly screenshot: string | null;
  };
  "recording.started": { readonly recording_id: string; readonly kind: string; readonly label: string | null };
  /** `stopped`, `max_duration`, `size_limit`, `session_ended` or `failed`. */
  "recording.stopped": {
    readonly recording_id: string;
    readonly kind: string;
    readonly reason: string;
    readonly bytes: number;
    readonly duration_ms: number;
  };
  /** What somebody did at a desktop from outside within a second, counted; never what it was. */
  "desktop.input": InputCounts;
  "desktop.attached": { readonly view_only: boolean };
  "desktop.detached": { readonly bytes_in: number; readonly bytes_out: number };
  /** What was typed within a second by the event's actor; never what it was. */
  "terminal.input": { readonly terminal_id: string; readonly bytes: number };
  "terminal.attached": { readonly terminal_id: string; readonly view_only: boolean };
  "terminal.detached": { readonly terminal_id: string; readonly bytes_in: number; readonly bytes_out: number };
  /** A human has the session's desktop and terminals; told again when it is renewed by hand. */
  "control.taken": { readonly holder: string; readonly expires_at: string };
  /** `released`, `expired`, `replaced` or `session_ended`. */
  "control.released": { readonly holder: string; readonly reason: string };
  "backend.health": Readonly<Record<string, unknown>>;
  "loop.blocked": { readonly ms: number; readonly tools: readonly string[]; readonly at: string };
  /** Events that the store did not take in time and that are lost; its id is the last one's. */
  "log.gap": { readonly from_id: number; readonly to_id: number };
}

/** What was transferred of a file or a folder. */
export interface FileTransferData {
  readonly path: string;
  readonly bytes: number;
  readonly archive?: string;
  /** Why it did not come to its end; absent for a whole one. */
  readonly error?: string;
}

/** How a call failed. */
export interface CallFailureData {
  readonly action: string;
  readonly outcome: string;
  readonly execution_time_ms: number | null;
  readonly error: string;
  readonly message: string;
}

/** The kinds of events, noun first. */
export type EventType = keyof EventData;

/** Those that tools may tell of themselves; the engine tells the others. */
export const TOLD_BY_TOOLS = [
  "command_executed",
  "desktop_started",
  "desktop_stopped",
  "desktop.action",
  "recording.started",
  "recording.stopped",
] as const satisfies EventType[];
export type ToldByTools = (typeof TOLD_BY_TOOLS)[number];

/** Who caused an event. */
export type Actor = "agent" | "human" | "system";

/** One thing that happened, as the bus carries it. Plain data that nobody changes afterwards. */
export interface ToolyardEvent {
  readonly type: EventType;
  /** ISO 8601, UTC. */
  readonly ts: string;
  readonly tenant?: string | undefined;
  readonly worker_id?: string | undefined;
  readonly session_id?: string | undefined;
  readonly resource?: string | undefined;
  /** The label of its session, if that has one. */
  readonly project?: string | undefined;
  /** When absent: the agent for what has a call, else the system. */
  readonly actor?: Actor | undefined;
  readonly call_id?: string | undefined;
  /** The call whose tool made this one. */
  readonly parent_id?: string | undefined;
  readonly trace_id?: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
  /** Names of what is too large for an event: screenshots, files. */
  readonly blobs?: readonly string[] | undefined;
}
