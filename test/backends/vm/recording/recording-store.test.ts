import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { RecordingConfig } from "../../../../src/backends/vm/recording/recording-schemas.ts";
import { RecordingStore } from "../../../../src/backends/vm/recording/recording-store.ts";
import { ManualClock } from "../../../kit/manual-clock.ts";

const FACTS = { kind: "actions", label: null, session_id: "s", worker_id: "w" } as const;
const DONE = { status: "finished", duration_ms: 5, reason: "stopped", error: null } as const;

async function openStore(config: Partial<RecordingConfig> = {}) {
  const dataDir = await mkdtemp(path.join(tmpdir(), "toolyard-test-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const clock = new ManualClock();
  const open = () => new RecordingStore(dataDir, RecordingConfig.parse(config), clock);
  return { store: open(), open, clock };
}

describe("the recordings of a tenant", () => {
  it("are kept with their files and their size, apart from another's, and deleted", async () => {
    const { store, open } = await openStore();
    const { record, folder } = await store.begin("a", { ...FACTS, label: "first" });
    await writeFile(path.join(folder, "actions.jsonl"), "{}\n");
    store.grew(record.id, 3);
    expect(await store.list("a")).toMatchObject([{ id: record.id, status: "recording", size_bytes: 3 }]);
    await expect(store.delete("a", record.id)).rejects.toMatchObject({ error: "conflict" });
    expect(await store.end("a", record.id, DONE)).toMatchObject({
      status: "finished",
      size_bytes: 3,
      reason: "stopped",
    });
    // Another process of the server sees the same.
    const { files, record: read } = await open().get("a", record.id);
    expect([read.label, files.map(({ name, sizeBytes }) => [name, sizeBytes])]).toEqual([
      "first",
      [["actions.jsonl", 3]],
    ]);
    await expect(store.get("b", record.id)).rejects.toMatchObject({ error: "unknown_name" });
    await expect(store.get("a", "../../etc")).rejects.toMatchObject({ error: "unknown_name" });
    expect(await store.delete("b", record.id)).toBe(false);
    expect(await store.delete("a", "..")).toBe(false);
    expect(await store.delete("a", record.id)).toBe(true);
    expect(await store.list("a")).toEqual([]);
  });

  it("that a server ended in are told as such", async () => {
    const { store, open } = await openStore();
    const { record } = await store.begin("a", FACTS);
    expect(await open().list("a")).toMatchObject([{ id: record.id, status: "failed", reason: "server_ended" }]);
  });

  it("are bounded in number and size, and go when they are too old", async () => {
    const { store, clock } = await openStore({ max_count: 2, max_total_mib: 2, max_mib: 1, keep_hours: 1 });
    const first = await store.begin("a", FACTS);
    expect(first.maxBytes).toBe(1024 * 1024);
    const second = await store.begin("a", FACTS);
    await expect(store.begin("a", FACTS)).rejects.toMatchObject({ details: { limit: "recordings", max: 2 } });
    await writeFile(path.join(first.folder, "actions.jsonl"), Buffer.alloc(1024 * 1024 + 1));
    await store.end("a", first.record.id, DONE);
    await store.end("a", second.record.id, DONE);
    await store.delete("a", second.record.id);
    await expect(store.begin("a", FACTS)).rejects.toMatchObject({ details: { limit: "recordings_mib" } });
    await clock.advance(3_600_001);
    expect((await store.begin("a", FACTS)).record.id).not.toBe(first.record.id);
    expect(await store.list("a")).toHaveLength(1);
  });
});
