import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { posix } from "node:path";
import { ToolyardError } from "../../../core/errors.ts";
import { type Input, tool } from "../../../core/tool.ts";
import { abilityOf } from "../desktop/desktop-ability.ts";
import type { VmContext } from "../session.ts";
import * as schema from "./recording-schemas.ts";
import type { RecordedFile, RecordingStore } from "./recording-store.ts";

const ACTS = { destructiveHint: false };
const LOOKS = { readOnlyHint: true, idempotentHint: true };

/** Records what happens at a desktop, and gives it away. */
export class RecordingTools {
  readonly #store: RecordingStore;

  constructor(store: RecordingStore) {
    this.#store = store;
  }

  @tool({
    description:
      "Start a recording: a video of the screen, or each action with the settled screen after it, without any loss. It runs until it " +
      "is stopped, its time or its room is up, or the session ends.",
    params: schema.StartParams,
    result: schema.RecordingRecord,
    annotations: ACTS,
  })
  recordingStart(params: Input<typeof schema.StartParams>, { session, emit, signal }: VmContext) {
    const { kind, label = null, fps, crf, max_duration: maxDurationS } = params;
    return session.data.recordings.start({ kind, label, fps, crf, maxDurationS }, emit, signal);
  }

  @tool({
    description: "Stop a recording of this session, or all of them; a video can be played then.",
    params: schema.StopParams,
    result: schema.RecordingsResult,
    annotations: { ...ACTS, idempotentHint: true },
  })
  async recordingStop({ id }: Input<typeof schema.StopParams>, { session, tenant, emit }: VmContext) {
    const stopped = await session.data.recordings.stop(id, "stopped", emit);
    if (id === undefined || stopped.length > 0) return { recordings: stopped };
    return { recordings: [(await this.#store.get(tenant, id)).record] };
  }

  @tool({
    description: "Tell how a recording stands, or those that run in this session.",
    params: schema.StatusParams,
    result: schema.RecordingsResult,
    annotations: LOOKS,
  })
  async recordingStatus({ id }: Input<typeof schema.StatusParams>, { session, tenant }: VmContext) {
    const ids = id === undefined ? session.data.recordings.running : [id];
    const found = await Promise.all(ids.map((one) => this.#store.get(tenant, one)));
    return { recordings: found.map(({ record }) => record) };
  }

  @tool({
    description: "List the recordings that there are, of ended sessions too, oldest first.",
    params: schema.ListParams,
    result: schema.RecordingsResult,
    annotations: LOOKS,
  })
  async recordingList({ session_id: of, limit }: Input<typeof schema.ListParams>, { tenant }: VmContext) {
    const all = await this.#store.list(tenant);
    return { recordings: all.filter((one) => of === undefined || one.session_id === of).slice(-limit) };
  }

  @tool({
    description: "Read a stretch of a recording's file, and list its files.",
    params: schema.DownloadParams,
    result: schema.DownloadResult,
    annotations: LOOKS,
  })
  async recordingDownload(params: Input<typeof schema.DownloadParams>, { tenant }: VmContext) {
    const { id, offset } = params;
    const { record, files } = await this.#store.get(tenant, id);
    const wanted = params.file ?? (record.kind === "video" ? "video.mp4" : "actions.jsonl");
    const file = files.find(({ name }) => name === wanted);
    if (file === undefined) {
      throw new ToolyardError("unknown_name", `the recording has no ${wanted}`, {
        details: { files: files.map(({ name }) => name).slice(0, 100) },
      });
    }
    const bytes = await readStretch(file, offset, params.length);
    return {
      id,
      file: wanted,
      content: bytes.toString("base64"),
      offset,
      length: bytes.length,
      size_bytes: file.sizeBytes,
      ended: offset + bytes.length >= file.sizeBytes,
      files: files.map(({ name, sizeBytes }) => ({ name, size_bytes: sizeBytes })),
    };
  }

  @tool({
    description:
      "Put a recording's files into a folder of the desktop, from where they can be downloaded over HTTP with ranges or as an archive.",
    params: schema.ExportParams,
    result: schema.ExportResult,
    annotations: ACTS,
    timeoutMs: 300_000,
  })
  async recordingExport({ id, path }: Input<typeof schema.ExportParams>, { session, tenant, signal }: VmContext) {
    const target = abilityOf(session.data.desktop.running, "files");
    const { files } = await this.#store.get(tenant, id);
    for (const file of files) {
      // oxlint-disable-next-line no-await-in-loop -- one after another is enough
      await target.write(posix.join(path, file.name), createReadStream(file.path), {}, signal);
    }
    const size = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    return { id, path, files: files.map(({ name }) => name), size_bytes: size };
  }

  @tool({
    description: "Delete a recording that has ended; says whether there was one.",
    params: schema.DeleteParams,
    result: schema.DeleteResult,
    annotations: { destructiveHint: true, idempotentHint: true },
  })
  async recordingDelete({ id }: Input<typeof schema.DeleteParams>, { tenant }: VmContext) {
    return { id, deleted: await this.#store.delete(tenant, id) };
  }
}

async function readStretch({ path }: RecordedFile, offset: number, length: number): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
