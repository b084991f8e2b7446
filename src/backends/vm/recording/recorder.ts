/** Why a recording ended. */
export type EndReason = "stopped" | "max_duration" | "size_limit" | "session_ended" | "failed";

/** What records, from its start on. */
export interface Recorder {
  /** Ends it whole: what was recorded can be read afterwards. Idempotent; answers when everything is written. */
  stop(): Promise<void>;
}

/** What a recorder is given to write to. */
export interface RecorderSink {
  readonly folder: string;
  readonly maxBytes: number;
  /** Told each time it has grown. */
  grew(sizeBytes: number): void;
  /** It ended by itself; `error` says why when it failed. */
  onEnd(reason: EndReason, error?: string): void;
}
