import { mkdtemp, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SnapshotStore } from "../../../src/backends/code/snapshot-store.ts";

const never = new AbortController().signal;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolyard-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const quota = { snapshots: 2, totalBytes: 100 };
const facts = {
  name: null,
  worker_id: "w",
  created_at: "2026-01-01T00:00:00.000Z",
  runtime: "local",
  image: null,
  kernels: [],
};
async function* bytes(count: number) {
  yield Buffer.alloc(count, 7);
}
const take = (store: SnapshotStore, tenant: string, size = 10) =>
  store.create(tenant, async (writer) => {
    await writer.write("part", bytes(size), never);
    return facts;
  });

describe("the store of snapshots", () => {
  it("keeps what was written, over a restart too", async () => {
    const { id, size_bytes: size } = await take(new SnapshotStore(folder, quota), "t");
    expect(size).toBe(10);
    const later = new SnapshotStore(folder, quota);
    expect(await later.list("t")).toEqual([{ id, size_bytes: 10, ...facts }]);
    const { part } = await later.get("t", id);
    expect(await readFile((await part("part")) ?? "")).toEqual(Buffer.alloc(10, 7));
    expect(await part("none")).toBeNull();
    expect(await later.delete("t", id)).toBe(true);
    expect(await later.delete("t", id)).toBe(false);
    expect(await later.list("t")).toEqual([]);
  });

  it("D03 has nothing of another tenant, whatever id is named", async () => {
    const store = new SnapshotStore(folder, quota);
    const { id } = await take(store, "blue");
    const unknown = await store.get("red", id).catch((error: unknown) => error);
    expect(unknown).toMatchObject({ error: "unknown_name", status: 404 });
    expect(await store.list("red")).toEqual([]);
    expect(await store.delete("red", id)).toBe(false);
    expect(await store.list("blue")).toHaveLength(1);
  });

  it.each(["../blue", "snap_x", "", "..", `snap_${"0".repeat(32)}/..`])("C01 takes %j for no id", async (id) => {
    const store = new SnapshotStore(folder, quota);
    await expect(store.get("t", id)).rejects.toMatchObject({ error: "unknown_name" });
    expect(await store.delete("t", id)).toBe(false);
  });

  it("bounds a tenant's snapshots and their bytes, and keeps nothing of one that is over", async () => {
    const store = new SnapshotStore(folder, quota);
    await take(store, "t", 90);
    await expect(take(store, "t", 11)).rejects.toMatchObject({ details: { limit: "snapshot_bytes" } });
    await take(store, "t", 10);
    await expect(take(store, "t", 0)).rejects.toMatchObject({ details: { limit: "snapshots" } });
    await take(store, "other", 90);
    const folders = await readdir(join(folder, "snapshots"));
    const kept = await Promise.all(folders.map((name) => readdir(join(folder, "snapshots", name))));
    expect(kept.flat()).toHaveLength(3);
  });

  it("counts those that are being written at once", async () => {
    const store = new SnapshotStore(folder, quota);
    const made = await Promise.allSettled([take(store, "t"), take(store, "t"), take(store, "t")]);
    expect((await store.list("t")).length).toBeLessThanOrEqual(2);
    expect(made.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(2);
  });

  it("bounds the bytes of those that are written at once together", async () => {
    const store = new SnapshotStore(folder, { snapshots: 5, totalBytes: 100 });
    const first = Promise.withResolvers<void>();
    const slow = store.create("t", async (writer) => {
      await first.promise;
      await writer.write("part", bytes(60), never);
      return facts;
    });
    await take(store, "t", 60);
    first.resolve();
    await expect(slow).rejects.toMatchObject({ details: { limit: "snapshot_bytes" } });
    await take(store, "t", 40);
  });

  it("counts what is told of a snapshot as its bytes, too", async () => {
    const store = new SnapshotStore(folder, { snapshots: 5, totalBytes: 10_000 });
    const kernels = [{ name: "python", language: "python" as const, saved: ["x".repeat(20_000)], skipped: [] }];
    const telling = store.create("t", async () => ({ ...facts, kernels }));
    await expect(telling).rejects.toMatchObject({ details: { limit: "snapshot_bytes" } });
    expect(await store.list("t")).toEqual([]);
  });

  it("removes what a server that was killed left unfinished", async () => {
    const store = new SnapshotStore(folder, quota);
    await take(store, "t");
    const [tenant = ""] = await readdir(join(folder, "snapshots"));
    const left = join(folder, "snapshots", tenant, `snap_${"0".repeat(32)}.partial-00`);
    await mkdir(left);
    await store.tidy();
    expect(await readdir(join(folder, "snapshots", tenant))).toHaveLength(1);
  });

  it("lasts no longer than the server without a folder", async () => {
    const store = new SnapshotStore(undefined, quota);
    const { id } = await take(store, "t");
    const { part } = await store.get("t", id);
    const path = (await part("part")) ?? "";
    await store.close();
    await expect(readFile(path)).rejects.toThrow(/ENOENT/);
  });
});
