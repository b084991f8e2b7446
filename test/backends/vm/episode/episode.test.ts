import { describe, expect, it } from "vitest";
import { Action, type ActionInput } from "../../../../src/backends/vm/actions/action.ts";
import { Operator } from "../../../../src/backends/vm/actions/operator.ts";
import { ActionHistory, MAX_ENTRIES } from "../../../../src/backends/vm/episode/action-history.ts";
import { Episode, type EpisodeRecorder } from "../../../../src/backends/vm/episode/episode.ts";
import { ToolyardError } from "../../../../src/core/errors.ts";
import { ManualClock } from "../../../kit/manual-clock.ts";
import { openScripted, toDriver } from "../scripted-display.ts";

async function openEpisode() {
  const { connection, signal, display } = await openScripted();
  const operator = new Operator(toDriver(connection));
  const episode = new Episode(new ManualClock());
  const events: unknown[] = [];
  const emit = (type: string, data: object) => events.push({ type, ...data });
  const control = { demand: () => "agent" as const, holder: null };
  const call = { signal, emit, control };
  const perform = (action: ActionInput, by = call) =>
    operator.perform(Action.parse(action), signal, episode.watch(operator, by));
  return { episode, operator, events, call, perform, display };
}

const entry = {
  at: "",
  actor: "agent",
  action: "key",
  outcome: "ok",
  error: null,
  duration_ms: 0,
  screenshot: null,
} as const;

describe("the history of an episode", () => {
  it("has every action with who did it, its params and how it ended, and tells each as an event", async () => {
    const { episode, events, perform } = await openEpisode();
    await perform({ action: "click", coordinate: [3, 4] });
    await expect(perform({ action: "key", keys: "nokey" })).rejects.toMatchObject({ error: "invalid_input" });
    expect(episode.history.since(0, 10)).toMatchObject([
      { index: 1, actor: "agent", action: "click", params: { coordinate: [3, 4], button: "left" }, outcome: "ok" },
      { index: 2, action: "key", outcome: "rejected", error: expect.stringContaining("nokey") },
    ]);
    expect(events).toMatchObject([
      { type: "desktop.action", index: 1, action: "click", position: [3, 4], outcome: "ok", screenshot: null },
      { type: "desktop.action", index: 2, outcome: "rejected" },
    ]);
    expect(JSON.stringify(events)).not.toContain("nokey");
  });

  it("says who did it, and refuses input but no look while a human has control", async () => {
    const { episode, call, perform, display } = await openEpisode();
    const holder = { holder: "ada", since: new Date(), expiresAt: new Date() };
    const taken = () => {
      throw new ToolyardError("control_taken", "ada has control");
    };
    const agent = { ...call, control: { demand: taken, holder } as never };
    await expect(perform({ action: "click" }, agent)).rejects.toMatchObject({ error: "control_taken" });
    await perform({ action: "cursor_position" }, agent);
    await perform({ action: "click" }, { ...call, control: { demand: () => "human", holder } as never });
    expect(episode.history.since(0, 10)).toMatchObject([{ action: "cursor_position" }, { actor: "human" }]);
    expect(display.events.filter(([kind]) => kind === "pointer")).toHaveLength(2);
  });

  it("ends a batch that is refused with the refusal, not with a failed item", async () => {
    const { episode, operator, call } = await openEpisode();
    let asked = 0;
    const demand = () => {
      asked += 1;
      if (asked > 1) throw new ToolyardError("control_taken", "ada has control");
      return "agent" as const;
    };
    const watch = episode.watch(operator, { ...call, control: { demand, holder: null } });
    const actions = [Action.parse({ action: "click" }), Action.parse({ action: "click" })];
    await expect(operator.batch(actions, { screenshot: false, watch }, call.signal)).rejects.toMatchObject({
      error: "control_taken",
    });
    expect(episode.history.total).toBe(1);
  });

  it("remembers what other tools did by their names, unless they did actions themselves", async () => {
    const { episode, operator, call, perform } = await openEpisode();
    await episode.aroundTool("launch", { app: "xterm" }, operator, call, async () => null);
    await episode.aroundTool("click_element", { ref: "e1" }, operator, call, () => perform({ action: "click" }));
    await expect(
      episode.aroundTool("launch", {}, operator, call, async () => {
        throw new ToolyardError("dependency_failed", "no such program");
      }),
    ).rejects.toThrow("no such program");
    expect(episode.history.since(0, 10)).toMatchObject([
      { action: "launch", params: { app: "xterm" }, outcome: "ok" },
      { action: "click" },
      { action: "launch", outcome: "infra_error", error: "no such program" },
    ]);
  });

  it("keeps the latest actions only, and no params that are too large", () => {
    const history = new ActionHistory();
    for (let index = 0; index < MAX_ENTRIES + 5; index += 1) history.add({ ...entry, params: { index } });
    expect(history.total).toBe(MAX_ENTRIES + 5);
    expect(history.since(0, 1)).toMatchObject([{ index: 6 }]);
    expect(history.add({ ...entry, params: { text: "x".repeat(5_000) } }).params).toEqual({
      text: `${"x".repeat(1_000)}…`,
    });
    expect(history.add({ ...entry, params: { keys: Array.from({ length: 9_000 }, () => 1) } }).params).toEqual({
      left_out: "too large",
    });
  });

  it("says that the task is over, until the episode begins anew", async () => {
    const { episode, operator, call } = await openEpisode();
    await episode.end("fail", { reason: "no such menu" }, operator, call);
    expect(episode).toMatchObject({ ended: "fail" });
    expect(episode.history.last).toMatchObject({ action: "fail", params: { reason: "no such menu" } });
    episode.restart();
    expect(episode).toMatchObject({ ended: null, instruction: null });
    expect(episode.history.last).toBeUndefined();
    await episode.end("done", {}, operator, call);
    expect(episode.history.last).toMatchObject({ index: 2 });
  });

  it("gives recorders the screen after each action that may have changed it, and each entry", async () => {
    const { episode, perform } = await openEpisode();
    const kept: unknown[] = [];
    const recorder: EpisodeRecorder = {
      keepScreen: async () => "abc",
      keepEntry: async ({ action, screenshot }) => void kept.push([action, screenshot]),
    };
    episode.record(recorder);
    await perform({ action: "click" });
    await perform({ action: "screenshot" });
    episode.stopRecording(recorder);
    await perform({ action: "click" });
    expect(kept).toEqual([
      ["click", "abc"],
      ["screenshot", null],
    ]);
  });
});
