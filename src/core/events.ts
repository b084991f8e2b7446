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
