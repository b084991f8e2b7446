import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FileRecordings, type FileRecordingsOptions } from "../../src/store/recordings/file-recordings.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { recordingLogger } from "../kit/recording-logger.ts";
import { ScriptedTerminals } from "../kit/scripted-terminal.ts";
import { testServer } from "../kit/test-server.ts";

const DAY_MS = 86_400_000;

async function recordingsIn(options: Partial<FileRecordingsOptions> = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), "toolyard-casts-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const clock = new ManualClock();
  const logger = recordingLogger();
  const make = () => new FileRecordings({ folder, clock, logger, maxBytes: 1_000_000, maxAgeMs: DAY_MS, ...options });
  return { folder, clock, logger, make, recordings: make() };
}

const owner = { tenant: "a", workerId: "w1", sessionId: "s1", resource: "box" };
const head = (tenant = "a") =>
  JSON.stringify({
    version: 2,
    toolyard: { tenant, worker_id: "w1", session_id: "s1", resource: "box", terminal_id: "t1" },
  });

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString("utf8");
}

describe("recordings of terminals in a folder", () => {
  it("outlive their terminals and their server, and are only the tenant's own", async () => {
    const { recordings, clock, make, folder } = await recordingsIn();
    const file = recordings.open({ ...owner, terminalId: "t1" }, clock.date());
    file.append(head());
    file.append('[0.5,"o","æøå"]');
    const [running] = await recordings.list("a");
    expect(running).toMatchObject({ ...owner, terminalId: "t1", running: true });
    file.end();
    await recordings.close();
    const next = make();
    const [found] = await next.list("a");
    if (found === undefined) throw new Error("it is not there");
    expect(found).toMatchObject({ id: running?.id, running: false, startedAt: clock.date() });
    expect(await textOf(next.read(found))).toBe(`${head()}\n[0.5,"o","æøå"]\n`);
    expect(await next.list("b")).toEqual([]);
    expect(await next.find("b", found.id)).toBeUndefined();
    expect(await next.remove("b", found.id)).toBe(false);
    const [tenant = ""] = await readdir(folder);
    const { mode } = await stat(path.join(folder, tenant, `${found.id}.cast`));
    expect(mode & 0o077).toBe(0);
    expect(await next.remove("a", found.id)).toBe(true);
    expect(await next.list("a")).toEqual([]);
  });

  it("C01: are found by their ids alone, which lead nowhere else", async () => {
    const { recordings } = await recordingsIn();
    for (const id of ["../../etc/passwd", "", ".", "0".repeat(13), `${"0".repeat(13)}-${"0".repeat(16)}/..`]) {
      expect(await recordings.find("a", id)).toBeUndefined();
    }
  });

  it("go when they are too old, or more than may be kept of a tenant's, oldest first", async () => {
    const { recordings, clock } = await recordingsIn({ maxBytes: 500 });
    const record = async (text: string, tenant = "a") => {
      const file = recordings.open({ ...owner, tenant, terminalId: "t1" }, clock.date());
      file.append(head(tenant));
      file.append(text);
      file.end();
      await expect.poll(async () => (await recordings.list(tenant))[0]?.running).toBe(false);
      await clock.advance(60_000);
    };
    await record("x".repeat(100));
    await record("y".repeat(100));
    await record("z".repeat(100), "b");
    await record("z".repeat(100));
    await recordings.prune();
    const kept = await recordings.list("a");
    const texts = await Promise.all(kept.map(async (facts) => (await textOf(recordings.read(facts))).slice(-5, -1)));
    expect(texts).toEqual(["zzzz", "yyyy"]);
    expect((await recordings.list("b")).length).toBe(1);
    await clock.advance(DAY_MS);
    await recordings.prune();
    expect([await recordings.list("a"), await recordings.list("b")]).toEqual([[], []]);
  });

  it("hold up nobody when they cannot be written, and say so once", async () => {
    const { clock, logger } = await recordingsIn();
    const nowhere = new FileRecordings({ folder: "/dev/null/x", clock, logger, maxBytes: 1, maxAgeMs: DAY_MS });
    const file = nowhere.open({ ...owner, terminalId: "t1" }, clock.date());
    for (let index = 0; index < 10; index += 1) file.append("x".repeat(70_000));
    file.end();
    await nowhere.close();
    await expect.poll(() => logger.lines.filter(({ message }) => message?.includes("is not kept")).length).toBe(1);
    expect(await nowhere.list("a")).toEqual([]);
  });
});

describe("a server that keeps recordings", () => {
  it("lists, gives and deletes what terminals showed, also of sessions that are over", async () => {
    const { recordings } = await recordingsIn();
    const backend = new ScriptedTerminals();
    await using server = await testServer({ backends: [backend], recordings });
    const { body } = await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "box" });
    await server.execute("terminal:start", { columns: 40, rows: 10 });
    backend.last.print("hello\r\n");
    await expect.poll(async () => (await server.execute("terminal:read")).body.data.screen.lines[0]).toBe("hello");
    await server.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "box" });
    const path = "/api/v1/recordings/terminals";
    await expect
      .poll(async () => (await server.get(`${path}?session_id=${body.data.session_id}`)).body.data)
      .toMatchObject({ kept: true, recordings: [{ terminal_id: "t1", worker_id: "w1", running: false }] });
    expect((await server.get(`${path}?session_id=other`)).body.data.recordings).toEqual([]);
    const { id, size_bytes: size } = (await server.get(path)).body.data.recordings[0];
    const answer = await fetch(`${server.url}${path}/${id}`);
    expect(answer.headers.get("content-type")).toBe("application/x-asciicast");
    const text = await answer.text();
    expect(Buffer.byteLength(text)).toBe(size);
    const [first = "", second = ""] = text.split("\n");
    expect(JSON.parse(first)).toMatchObject({ version: 2, width: 40, height: 10 });
    expect(JSON.parse(second)).toEqual([expect.any(Number), "o", "hello\r\n"]);
    const deleted = await fetch(`${server.url}${path}/${id}`, { method: "DELETE" });
    expect(await deleted.json()).toMatchObject({ code: 0, data: { id, deleted: true } });
    expect((await fetch(`${server.url}${path}/${id}`)).status).toBe(404);
  });

  it("says that it keeps none, where it has no folder", async () => {
    await using server = await testServer();
    const { body } = await server.get("/api/v1/recordings/terminals");
    expect(body.data).toEqual({ kept: false, recordings: [] });
  });
});
