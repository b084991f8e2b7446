import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Action, type ActionInput } from "../../../../src/backends/vm/actions/action.ts";
import { Operator } from "../../../../src/backends/vm/actions/operator.ts";
import { Episode } from "../../../../src/backends/vm/episode/episode.ts";
import { ActionRecorder } from "../../../../src/backends/vm/recording/action-recorder.ts";
import { ManualClock } from "../../../kit/manual-clock.ts";
import { openScripted, toDriver } from "../scripted-display.ts";

async function openRecorder(maxBytes: number) {
  const folder = await mkdtemp(path.join(tmpdir(), "toolyard-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(path.join(folder, "screens"));
  const { connection, signal } = await openScripted();
  const operator = new Operator(toDriver(connection));
  const episode = new Episode(new ManualClock());
  const ends: unknown[] = [];
  const sizes: number[] = [];
  const sink = {
    folder,
    maxBytes,
    grew: (size: number) => void sizes.push(size),
    onEnd: (reason: string, error?: string) => void ends.push([reason, error]),
  };
  const recorder = new ActionRecorder(episode, sink);
  const perform = (action: ActionInput) =>
    operator.perform(Action.parse(action), signal, episode.watch(operator, { signal }));
  const log = async () => (await readFile(path.join(folder, "actions.jsonl"), "utf8")).trimEnd().split("\n");
  return { folder, recorder, perform, episode, ends, sizes, log };
}

describe("a recorder of actions", () => {
  it("keeps the same screen once, and says how large it has become", async () => {
    const { folder, recorder, perform, episode, sizes, log } = await openRecorder(1_000_000);
    await perform({ action: "click" });
    await perform({ action: "key", keys: "a" });
    await expect(perform({ action: "key", keys: "nokey" })).rejects.toThrow();
    const [first, second, third] = (await log()).map((line) => JSON.parse(line));
    expect(await readdir(path.join(folder, "screens"))).toEqual([`${first.screenshot}.png`]);
    expect(second.screenshot).toBe(first.screenshot);
    expect(third).toMatchObject({ outcome: "rejected", screenshot: null });
    expect(sizes).toEqual(sizes.toSorted((left, right) => left - right));
    await recorder.stop();
    await perform({ action: "click" });
    expect(await log()).toHaveLength(3);
    expect(episode.history.total).toBe(4);
  });

  it("ends when its room is used up, or nothing can be written, and the actions go on", async () => {
    const small = await openRecorder(10);
    await small.perform({ action: "click" });
    await small.perform({ action: "click" });
    expect(small.ends).toEqual([["size_limit", undefined]]);
    expect(small.episode.history.total).toBe(2);
    const gone = await openRecorder(1_000_000);
    await rm(gone.folder, { recursive: true });
    await gone.perform({ action: "click" });
    expect(gone.ends).toEqual([["failed", expect.stringContaining("ENOENT")]]);
    expect(gone.episode.history.last).toMatchObject({ outcome: "ok", screenshot: null });
  });
});
