import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import sharp from "sharp";
import { describe, expect, it, onTestFinished } from "vitest";
import { desktopServer } from "../desktop-server.ts";
import { lackingForDesktops } from "../local-desktops.ts";

const run = promisify(execFile);
const lacking = await lackingForDesktops();
if (lacking !== undefined) console.warn(`skipped: recordings of a real desktop; ${lacking}`);
const hasFfmpeg = await run("ffprobe", ["-version"]).then(
  () => true,
  () => false,
);
if (!hasFfmpeg) console.warn("skipped: videos of a real desktop; ffmpeg is not installed");

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "toolyard-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe.skipIf(lacking !== undefined || !hasFfmpeg)("a video of a desktop", () => {
  it("can be played when it was stopped, and is listed, downloaded, exported and deleted", async () => {
    const { server, open, call, fail } = await desktopServer({}, await temporaryFolder());
    const session = await open();
    const started = await call("recording_start", { label: "demo", fps: 10 });
    expect(started).toMatchObject({ kind: "video", label: "demo", status: "recording", session_id: session });
    expect(await fail("recording_start", {})).toMatchObject({ error: "conflict" });
    const size = async () => (await call("recording_status")).recordings[0].size_bytes;
    await call("drag", { start_x: 10, start_y: 10, end_x: 300, end_y: 200, duration: 0.5 });
    await expect.poll(size, { timeout: 30_000 }).toBeGreaterThan(0);
    expect(await fail("recording_delete", { id: started.id })).toMatchObject({ error: "conflict" });
    const { recordings } = await call("recording_stop");
    expect(recordings).toMatchObject([{ id: started.id, status: "finished", reason: "stopped" }]);
    expect(await call("recording_status")).toEqual({ recordings: [] });
    expect(await call("recording_list", { session_id: session })).toEqual({ recordings });

    const parts: Buffer[] = [];
    for (let offset = 0, ended = false; !ended; ) {
      // oxlint-disable-next-line no-await-in-loop -- in stretches, as a client would
      const part = await call("recording_download", { id: started.id, offset, length: 65_536 });
      parts.push(Buffer.from(part.content, "base64"));
      offset += part.length;
      ({ ended } = part);
    }
    const video = path.join(await temporaryFolder(), "video.mp4");
    await writeFile(video, Buffer.concat(parts));
    const shown = ["-v", "error", "-count_frames", "-show_entries", "stream=codec_name,width,height,nb_read_frames"];
    const { stdout, stderr } = await run("ffprobe", [...shown, "-of", "json", video]);
    const [stream] = JSON.parse(stdout).streams;
    expect(stream).toMatchObject({ codec_name: "h264", width: 640, height: 480 });
    expect(Number(stream.nb_read_frames)).toBeGreaterThan(1);
    expect(stderr).toBe("");

    expect(await call("recording_export", { id: started.id, path: "out" })).toMatchObject({ files: ["video.mp4"] });
    const url = `${server.url}/api/v1/session/${session}/files?path=out/video.mp4`;
    const answer = await fetch(url, { headers: { range: "bytes=4-7" } });
    expect([answer.status, await answer.text()]).toEqual([206, "ftyp"]);
    expect(await call("recording_delete", { id: started.id })).toMatchObject({ deleted: true });
    expect(await fail("recording_download", { id: started.id })).toMatchObject({ error: "unknown_name" });
    const events = `/api/v1/events?format=json&session=${session}&type=recording.started,recording.stopped`;
    expect((await server.get(events)).body.data.events).toMatchObject([
      { type: "recording.started", data: { recording_id: started.id, kind: "video", label: "demo" } },
      {
        type: "recording.stopped",
        data: { recording_id: started.id, reason: "stopped", bytes: recordings[0].size_bytes },
      },
    ]);
  });

  it("ends by itself at its time", async () => {
    const { open, call } = await desktopServer({}, await temporaryFolder());
    await open();
    const { id } = await call("recording_start", { max_duration: 0.3 });
    const reason = async () => (await call("recording_status", { id })).recordings[0].reason;
    await expect.poll(reason, { timeout: 30_000 }).toBe("max_duration");
  });
});

describe.skipIf(lacking !== undefined)("a log of a desktop's actions", () => {
  it("has each action with the settled screen after it, each screen once, and outlives its session", async () => {
    const { server, open, call } = await desktopServer({}, await temporaryFolder());
    const session = await open();
    const { id } = await call("recording_start", { kind: "actions" });
    await call("click", { x: 300, y: 200 });
    await call("mouse_move", { coordinate: [310, 210] });
    await call("run_command", { command: "xsetroot -solid '#ff0000'; sleep 0.2" });
    await call("screenshot");
    await server.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "vm" });

    const next = await open();
    const { recordings } = await call("recording_list");
    expect(recordings).toMatchObject([{ id, session_id: session, status: "finished", reason: "session_ended" }]);
    expect(next).not.toBe(session);
    const log = await call("recording_download", { id });
    const lines = Buffer.from(log.content, "base64").toString().trimEnd().split("\n");
    const entries = lines.map((line) => JSON.parse(line));
    expect(entries.map(({ action }) => action)).toEqual(["click", "mouse_move", "run_command", "screenshot"]);
    const screens = entries.slice(0, 3).map(({ screenshot }) => screenshot);
    expect(entries[3].screenshot).toBeNull();
    expect(log.files).toHaveLength(1 + new Set(screens).size);
    const kept = await call("recording_download", { id, file: `screens/${screens[2]}.png` });
    const picture = Buffer.from(kept.content, "base64");
    expect(createHash("sha256").update(picture).digest("hex")).toBe(screens[2]);
    expect(await sharp(picture).metadata()).toMatchObject({ width: 640, height: 480, format: "png" });
  });

  it("goes with its session where it is not to be kept", async () => {
    const recordings = { keep_after_session: false };
    const { server, open, call } = await desktopServer({ recordings }, await temporaryFolder());
    await open();
    await call("recording_start", { kind: "actions" });
    await server.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "vm" });
    await open();
    expect(await call("recording_list")).toEqual({ recordings: [] });
  });
});
