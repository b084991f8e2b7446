import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { createFaultyStore, DISK_FULL } from "../kit/faulty-store.ts";
import { describeStore } from "../kit/store-conformance.ts";
import { event, events } from "../kit/store-records.ts";

describeStore("faulty, without faults", async () => createFaultyStore(createMemoryStore()));

describe("faulty store", () => {
  it("fails the next operations of one name, in the order of the script", async () => {
    const store = createFaultyStore(createMemoryStore());
    store.inject("events.append", DISK_FULL, 2);
    store.inject("events.append", { kind: "fail" });
    await expect(store.events.append([event(1)])).rejects.toMatchObject({ name: "StoreError", reason: "full" });
    await expect(store.events.append([event(1)])).rejects.toMatchObject({ reason: "full" });
    await expect(store.events.append([event(1)])).rejects.toMatchObject({ reason: "failed" });
    await store.events.append(events(1, 2));
    expect(await store.events.bounds()).toEqual({ firstId: 1, lastId: 2 });
    expect(store.count("events.append")).toBe(4);
  });

  it("loses an answer after the work was done", async () => {
    const store = createFaultyStore(createMemoryStore());
    store.inject("events.append", { kind: "lose" });
    await expect(store.events.append([event(1)])).rejects.toMatchObject({ reason: "failed" });
    expect(await store.events.get(null, 1)).toEqual(event(1));
  });

  it("holds an operation until it is let go, and heals", async () => {
    const inner = createMemoryStore();
    const store = createFaultyStore(inner);
    const { promise, resolve } = Promise.withResolvers<void>();
    store.inject("events.append", { kind: "hold", until: promise });
    const held = store.events.append([event(1)]);
    expect(await inner.events.bounds()).toEqual({ firstId: 1, lastId: 0 });
    resolve();
    await held;
    expect(await inner.events.bounds()).toEqual({ firstId: 1, lastId: 1 });
    store.inject("events.bounds", { kind: "hang" }, Infinity);
    store.heal("events.bounds");
    expect(await store.events.bounds()).toEqual({ firstId: 1, lastId: 1 });
  });
});
