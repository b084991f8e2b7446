import { randomInt } from "node:crypto";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { ToolyardError } from "../../../core/errors.ts";
import type { SandboxProcess } from "../../../core/sandbox-process.ts";
import { abilityOf } from "../desktop/desktop-ability.ts";
import type { RunningDesktop } from "../desktop/provider.ts";
import type { Size } from "../screen/view.ts";
import type { Recorder, RecorderSink } from "./recorder.ts";

/** How a video is made. */
export interface VideoOptions extends Size {
  readonly fps: number;
  readonly crf: number;
}

const START_MS = 15_000;
const RETRY_MS = 50;
const END_MS = 10_000;
const SAID_CHARACTERS = 400;

/**
 * Films a display by one long-lived ffmpeg in the desktop, whose video streams out through a port of the desktop's own loopback: in
 * fragments, so that what has been filmed can be played however it ends, and never more in the desktop's memory than ffmpeg holds.
 */
export class VideoRecorder implements Recorder {
  readonly #process: SandboxProcess;
  readonly #written: Promise<void>;
  #stopped: Promise<void> | undefined;
  #isStopping = false;

  private constructor(process: SandboxProcess, channel: Duplex, sink: RecorderSink) {
    this.#process = process;
    this.#written = this.#write(channel, sink);
  }

  /** @throws ToolyardError `runtime_unavailable` without ffmpeg, `dependency_failed` when it does not start; the signal's reason. */
  static async start(
    running: RunningDesktop,
    options: VideoOptions,
    sink: RecorderSink,
    signal: AbortSignal,
  ): Promise<VideoRecorder> {
    const port = randomInt(20_000, 60_000);
    const command = toCommand(running.display ?? ":1", port, options);
    const process = await abilityOf(running, "spawn").call(running, { command }, signal);
    try {
      return new VideoRecorder(process, await reach(running, process, port, signal), sink);
    } catch (error) {
      await process.remove().catch(() => {});
      throw error;
    }
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#end();
    return this.#stopped;
  }

  async #end(): Promise<void> {
    this.#isStopping = true;
    // It then writes what it holds, and the end of the file.
    await this.#process.kill("SIGINT").catch(() => {});
    const late = setTimeout(() => void this.#process.kill("SIGKILL").catch(() => {}), END_MS);
    await this.#written;
    clearTimeout(late);
    await this.#process.remove().catch(() => {});
  }

  async #write(channel: Duplex, sink: RecorderSink): Promise<void> {
    let sizeBytes = 0;
    try {
      const file = await open(join(sink.folder, "video.mp4"), "wx", 0o600);
      try {
        for await (const chunk of channel) {
          const bytes: Buffer = chunk;
          if (sizeBytes + bytes.length > sink.maxBytes) {
            this.#isStopping = true;
            sink.onEnd("size_limit");
            break;
          }
          await file.write(bytes);
          sizeBytes += bytes.length;
          sink.grew(sizeBytes);
        }
      } finally {
        await file.close();
      }
    } catch (error) {
      if (!this.#isStopping) sink.onEnd("failed", error instanceof Error ? error.message : String(error));
      return;
    } finally {
      channel.destroy();
    }
    if (!this.#isStopping) sink.onEnd("failed", `ffmpeg ended by itself: ${await readComplaint(this.#process)}`);
  }
}

function toCommand(display: string, port: number, { width, height, fps, crf }: VideoOptions): string[] {
  const source = [
    "-f",
    "x11grab",
    "-draw_mouse",
    "1",
    "-framerate",
    `${fps}`,
    "-video_size",
    `${width}x${height}`,
    "-i",
    display,
  ];
  // H.264 of 4:2:0 has even sides only.
  const codec = [
    "-vf",
    "crop=trunc(iw/2)*2:trunc(ih/2)*2",
    "-c:v",
    "libx264",
    "-preset",
    "ultrafast",
    "-crf",
    `${crf}`,
  ];
  const pixels = ["-pix_fmt", "yuv420p", "-g", `${Math.max(1, Math.round(fps * 2))}`, "-threads", "1"];
  const container = [
    "-f",
    "mp4",
    "-movflags",
    "frag_keyframe+empty_moov+default_base_moof",
    "-frag_duration",
    "1000000",
  ];
  const target = `tcp://127.0.0.1:${port}?listen=1&listen_timeout=${START_MS}`;
  return ["ffmpeg", "-nostdin", "-loglevel", "error", ...source, ...codec, ...pixels, ...container, target];
}

/** Connects to ffmpeg as soon as it listens. */
async function reach(
  running: RunningDesktop,
  process: SandboxProcess,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> {
  const connect = abilityOf(running, "connect");
  const either = AbortSignal.any([signal, AbortSignal.timeout(START_MS)]);
  let ended = false;
  process.exited.then(
    () => (ended = true),
    () => (ended = true),
  );
  for (;;) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- until it listens
      return await connect.call(running, port, either);
    } catch (cause) {
      signal.throwIfAborted();
      if (ended || either.aborted) {
        // oxlint-disable-next-line no-await-in-loop -- at its end
        throw await toFailure(process, cause);
      }
      // oxlint-disable-next-line no-await-in-loop -- as above
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

async function toFailure(process: SandboxProcess, cause: unknown): Promise<ToolyardError> {
  const said = await readComplaint(process);
  if (process.exit?.exitCode === 127) {
    return new ToolyardError("runtime_unavailable", "this desktop has no ffmpeg, which makes videos", {
      suggestion: 'Use the image toolyard/desktop, install ffmpeg for local desktops, or record with kind "actions".',
    });
  }
  return new ToolyardError("dependency_failed", `the video could not be started: ${said}`, { cause });
}

async function readComplaint(process: SandboxProcess): Promise<string> {
  try {
    const { chunks } = await process.read({ cursor: 0, signal: AbortSignal.timeout(END_MS) });
    const said = Buffer.concat(chunks.map(({ data }) => data)).toString("utf8");
    return said.trim().slice(-SAID_CHARACTERS) || "it said nothing";
  } catch {
    return "its sandbox is gone";
  }
}
