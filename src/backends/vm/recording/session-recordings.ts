import type { Clock } from "../../../core/clock.ts";
import type { ToolContext } from "../../../core/context.ts";
import { ToolyardError } from "../../../core/errors.ts";
import type { Desktop } from "../desktop/desktop.ts";
import type { Episode } from "../episode/episode.ts";
import { ActionRecorder } from "./action-recorder.ts";
import type { EndReason, Recorder, RecorderSink } from "./recorder.ts";
import type { RecordingConfig, RecordingRecord } from "./recording-schemas.ts";
import type { RecordingStore } from "./recording-store.ts";
import { VideoRecorder } from "./video-recorder.ts";

type Emit = ToolContext["emit"];

/** Whose recordings they are, and where they go. */
export interface SessionRecordingsOptions {
  readonly store: RecordingStore;
  readonly config: RecordingConfig;
  readonly clock: Clock;
  readonly owner: { readonly tenant: string; readonly sessionId: string; readonly workerId: string };
  readonly desktop: Desktop;
  readonly episode: Episode;
  /** The session's own, for what no call does. */
  readonly emit: Emit;
}

/** What is to be recorded. */
export interface RecordingRequest {
  readonly kind: "video" | "actions";
  readonly label: string | null;
  readonly fps: number;
  readonly crf: number;
  readonly maxDurationS: number | undefined;
}

interface Live {
  readonly recorder: Recorder;
  readonly startedAt: number;
  readonly cancelTimer: () => void;
  ended: Promise<RecordingRecord> | undefined;
}

/** What is recorded of one session, until it is stopped, its time or its room is up, or the session ends. */
export class SessionRecordings {
  readonly #options: SessionRecordingsOptions;
  readonly #live = new Map<string, Live>();

  constructor(options: SessionRecordingsOptions) {
    this.#options = options;
  }

  /** The ids of those that run. */
  get running(): readonly string[] {
    return [...this.#live.keys()];
  }

  /**
   * Starts a recording.
   *
   * @throws ToolyardError `conflict` when one of its kind runs; `limit_exceeded`; `runtime_unavailable`, `dependency_failed` where no
   *   video can be made; the signal's reason.
   */
  async start(request: RecordingRequest, emit: Emit, signal: AbortSignal): Promise<RecordingRecord> {
    const { store, config, clock, owner } = this.#options;
    const { kind, label } = request;
    const { tenant, sessionId, workerId } = owner;
    await this.#assertFree(kind);
    const { record, folder, maxBytes } = await store.begin(tenant, {
      kind,
      label,
      session_id: sessionId,
      worker_id: workerId,
    });
    const { id } = record;
    const sink: RecorderSink = {
      folder,
      maxBytes,
      grew: (sizeBytes) => store.grew(id, sizeBytes),
      onEnd: (reason, error) => void this.#end(id, reason, this.#options.emit, error).catch(() => {}),
    };
    let recorder: Recorder;
    try {
      recorder = await this.#record(request, sink, signal);
    } catch (error) {
      await store.end(tenant, id, { status: "failed", duration_ms: 0, reason: "failed", error: null });
      await store.delete(tenant, id);
      throw error;
    }
    const seconds = Math.min(request.maxDurationS ?? Infinity, config.max_duration_s);
    const cancelTimer = clock.after(seconds * 1_000, () => sink.onEnd("max_duration"));
    this.#live.set(id, { recorder, startedAt: clock.now(), cancelTimer, ended: undefined });
    emit?.("recording.started", { recording_id: id, kind, label });
    return record;
  }

  /** Stops one, or all; those that have ended meanwhile are left out. */
  async stop(id: string | undefined, reason: EndReason, emit: Emit): Promise<RecordingRecord[]> {
    const ids = id === undefined ? this.running : this.running.filter((one) => one === id);
    return Promise.all(ids.map((one) => this.#end(one, reason, emit)));
  }

  /** Ends what runs; whether it is kept is the config's to say. Never throws. */
  async close(): Promise<void> {
    const { store, config, owner } = this.#options;
    try {
      await this.stop(undefined, "session_ended", this.#options.emit);
      if (config.keep_after_session) return;
      const all = await store.list(owner.tenant);
      const own = all.filter((record) => record.session_id === owner.sessionId);
      await Promise.all(own.map((record) => store.delete(owner.tenant, record.id)));
    } catch {
      // The session ends all the same; what is left of them goes when it is too old.
    }
  }

  async #assertFree(kind: string): Promise<void> {
    const { store, owner } = this.#options;
    for (const id of this.running) {
      // oxlint-disable-next-line no-await-in-loop -- two at most
      const { record } = await store.get(owner.tenant, id);
      if (record.kind !== kind) continue;
      throw new ToolyardError("conflict", `a recording of the kind ${kind} runs already`, {
        details: { recording_id: id },
        suggestion: "Stop it first.",
      });
    }
  }

  async #record({ kind, fps, crf }: RecordingRequest, sink: RecorderSink, signal: AbortSignal): Promise<Recorder> {
    const { desktop, episode } = this.#options;
    if (kind === "actions") return new ActionRecorder(episode, sink);
    const { width, height } = desktop.operator.driver.size;
    return VideoRecorder.start(desktop.running, { width, height, fps, crf }, sink, signal);
  }

  #end(id: string, reason: EndReason, emit: Emit, error?: string): Promise<RecordingRecord> {
    const live = this.#live.get(id);
    if (live === undefined) return Promise.reject(new ToolyardError("unknown_name", "the recording has ended"));
    live.ended ??= this.#finish(id, live, reason, emit, error);
    return live.ended;
  }

  async #finish(id: string, live: Live, reason: EndReason, emit: Emit, error?: string): Promise<RecordingRecord> {
    const { store, clock, owner } = this.#options;
    live.cancelTimer();
    const durationMs = Math.round(clock.now() - live.startedAt);
    await live.recorder.stop();
    const status = reason === "failed" ? "failed" : "finished";
    const facts = { status, duration_ms: durationMs, reason, error: error?.slice(0, 1_000) ?? null } as const;
    const record = await store.end(owner.tenant, id, facts);
    this.#live.delete(id);
    const { kind, size_bytes: bytes } = record;
    emit?.("recording.stopped", { recording_id: id, kind, reason, bytes, duration_ms: durationMs });
    return record;
  }
}
