import { createHash } from "node:crypto";
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "../../../core/errors.ts";
import type { Operator } from "../actions/operator.ts";
import type { HistoryEntry } from "../episode/action-history.ts";
import type { Episode, EpisodeRecorder } from "../episode/episode.ts";
import { encodePicture } from "../screen/picture.ts";
import type { Recorder, RecorderSink } from "./recorder.ts";

/**
 * Keeps each action with the settled screen after it, in full resolution: `actions.jsonl` names the screens by their SHA-256, and each
 * is kept once. An action is answered when its screen is kept.
 */
export class ActionRecorder implements Recorder, EpisodeRecorder {
  readonly #episode: Episode;
  readonly #sink: RecorderSink;
  readonly #kept = new Set<string>();
  #sizeBytes = 0;
  #isOver = false;

  constructor(episode: Episode, sink: RecorderSink) {
    this.#episode = episode;
    this.#sink = sink;
    episode.record(this);
  }

  async keepScreen(operator: Operator, signal: AbortSignal): Promise<string | null> {
    try {
      await operator.settle(signal);
      const { bytes } = await encodePicture(await operator.driver.capture(signal), { format: "png" });
      const hash = createHash("sha256").update(bytes).digest("hex");
      if (this.#kept.has(hash)) return hash;
      if (!this.#fits(bytes.length)) return null;
      await writeFile(join(this.#sink.folder, "screens", `${hash}.png`), bytes, { mode: 0o600 });
      this.#kept.add(hash);
      return hash;
    } catch (error) {
      // A call that was cancelled, or a desktop that is gone, says nothing of the recording.
      if (!signal.aborted && isOfDisk(error)) this.#end("failed", describeError(error));
      return null;
    }
  }

  async keepEntry(entry: HistoryEntry): Promise<void> {
    const line = `${JSON.stringify(entry)}\n`;
    try {
      if (!this.#fits(Buffer.byteLength(line))) return;
      await appendFile(join(this.#sink.folder, "actions.jsonl"), line, { mode: 0o600 });
    } catch (error) {
      this.#end("failed", describeError(error));
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#episode.stopRecording(this);
  }

  #fits(bytes: number): boolean {
    if (this.#isOver) return false;
    if (this.#sizeBytes + bytes > this.#sink.maxBytes) {
      this.#end("size_limit");
      return false;
    }
    this.#sizeBytes += bytes;
    this.#sink.grew(this.#sizeBytes);
    return true;
  }

  #end(reason: "size_limit" | "failed", error?: string): void {
    if (this.#isOver) return;
    void this.stop();
    this.#sink.onEnd(reason, error);
  }
}

function isOfDisk(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
