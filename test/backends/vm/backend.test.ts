import sharp from "sharp";
import { describe, expect, it, onTestFinished } from "vitest";
import VmBackend from "../../../src/backends/vm/backend.ts";
import type { VmContext, VmSession } from "../../../src/backends/vm/session.ts";
import type { Logger } from "../../../src/core/context.ts";
import type { Session } from "../../../src/core/session.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";
import { Catalog } from "../../../src/engine/catalog.ts";
import { lackingForDesktops, localRuntimes } from "./local-desktops.ts";

const KNOWN =
  "screenshot click double_click right_click type key hotkey scroll drag move mouse_down mouse_up key_down key_up wait done fail";
const lacking = await lackingForDesktops();
if (lacking !== undefined) console.warn(`skipped: the vm backend on a real display; ${lacking}`);
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const lifecycle = { resource: "vm", logger: quiet, signal: new AbortController().signal };

async function openSession(sessionConfig: Record<string, unknown> = {}) {
  const backend = new VmBackend({ config: { quiet_ms: 50, settle_ms: 500 }, runtimes: localRuntimes });
  const request = { workerId: "w", tenant: "t", sessionId: "s", config: sessionConfig };
  const data = await backend.initialize(request, lifecycle);
  const about = { id: "s", name: "vm_w_001", workerId: "w", tenant: "t", resource: "vm", config: sessionConfig };
  const session: Session<VmSession> = { ...about, data };
  onTestFinished(() => backend.cleanup(session));
  const outcomes: string[] = [];
  const context = { session, signal: lifecycle.signal, setOutcome: (outcome: string) => outcomes.push(outcome) };
  const call = async (name: string, params: object = {}): Promise<Record<string, unknown>> => {
    const tool = backend.tools().get(name);
    if (tool === undefined) throw new Error(`there is no ${name}`);
    // Of a context, these tools use the session, the signal and the outcome.
    const result = await tool.invoke(tool.definition.params.parse(params), context as unknown as VmContext as never);
    // Every result of these tools is an object.
    return (tool.definition.result?.parse(result) ?? result) as Record<string, unknown>;
  };
  return { backend, call, outcomes };
}

describe("the tools of the vm backend", () => {
  it("are the known implementation's by name, and more", () => {
    const names = new Catalog([{ resource: "vm", backend: new VmBackend({ config: {} }) }])
      .list()
      .map(({ name }) => name);
    for (const name of KNOWN.split(" ")) expect(names).toContain(name);
    for (const name of ["zoom", "left_click", "triple_click", "batch", "model_action", "run_command"]) {
      expect(names).toContain(name);
    }
  });

  it("start no desktop where no runtime can hold one, and health says why", async () => {
    const request = { workerId: "w", tenant: "t", sessionId: "s", config: {} };
    const runtimes = createRuntimeSelector({ order: ["quickjs"] });
    for (const backend of [
      new VmBackend({ config: {} }),
      new VmBackend({ config: { provider: "quickjs" }, runtimes }),
    ]) {
      await expect(backend.initialize(request, lifecycle)).rejects.toMatchObject({ error: "runtime_unavailable" });
      expect(await backend.health(lifecycle)).toMatchObject({ up: false, reason: expect.stringMatching(/runtime/) });
    }
  });
});

describe.skipIf(lacking !== undefined)("a session of the vm backend", () => {
  it("shows its screen scaled, and clicks on what is seen there", async () => {
    const { call } = await openSession({ width: 800, height: 600, max_long_edge: 400 });
    const { image, size, session, accessibility_tree: tree } = await call("screenshot", { format: "jpeg" });
    expect({ size, session, tree }).toEqual({ size: [400, 300], session: "vm_w_001", tree: null });
    expect(await sharp(Buffer.from(String(image), "base64")).metadata()).toMatchObject({ format: "jpeg", width: 400 });
    expect(await call("click", { x: 200, y: 100 })).toMatchObject({ clicked: [200, 100], button: "left" });
    expect(await call("cursor_position")).toEqual({ x: 200, y: 100 });
    expect(await call("display_info")).toMatchObject({ width: 800, screenshot_width: 400, scale: 0.5 });
    expect(await call("scroll", { x: 5, y: 5, clicks: -3 })).toMatchObject({ position: [5, 5], clicks: -3 });
    expect(await call("drag", { start_x: 1, start_y: 1, end_x: 9, end_y: 9 })).toMatchObject({
      from: [1, 1],
      to: [9, 9],
    });
    expect(await call("type", { text: "æ€" })).toMatchObject({ typed: "æ€", length: 2 });
    expect(await call("left_click", { coordinate: [3, 4] })).toEqual({ action: "click" });
  });

  it("does a batch until one fails, and a model's own actions, and tells what failed as the model's doing", async () => {
    const { call, outcomes } = await openSession({ width: 640, height: 480 });
    const batch = await call("batch", {
      actions: [{ action: "click" }, { action: "key", keys: "nokey" }, { action: "wait" }],
    });
    expect(batch).toMatchObject({
      results: [{ ok: true }, { ok: false, executed: true }, { ok: false, executed: false }],
    });
    expect(batch["screenshot"]).toMatchObject({ size: [640, 480] });
    const raw = { action: "left_click", coordinate: [1, 2] };
    expect(await call("model_action", { dialect: "anthropic_computer_20250124", action: raw })).toEqual({
      answer: { content: [{ type: "text", text: "Clicked." }], is_error: false },
      error: null,
      ended: null,
    });
    expect(outcomes).toEqual(["tool_error"]);
  });

  it("runs commands beside its display, and ends them at their time", async () => {
    const { call } = await openSession({ width: 640, height: 480 });
    expect(await call("run_command", { command: "echo $DISPLAY; exit 3" })).toMatchObject({
      exit_code: 3,
      stdout: expect.stringMatching(/^:\d+\n$/),
    });
    expect(await call("run_command", { command: ["sleep", "60"], timeout_ms: 100 })).toMatchObject({ timed_out: true });
    expect(await call("run_command", { command: ["no-such-program"] })).toMatchObject({ exit_code: 127 });
  });
});
