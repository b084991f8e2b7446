import { describe, expect, it } from "vitest";
import sharp from "sharp";
import { Action, type ActionInput } from "../../../src/backends/vm/actions/action.ts";
import { NOT_EXECUTED, Operator, type OperatorOptions } from "../../../src/backends/vm/actions/operator.ts";
import type { ActionDriver } from "../../../src/backends/vm/actions/action-driver.ts";
import { openScripted, toDriver } from "./scripted-display.ts";

async function openOperator(options: OperatorOptions = {}, more: Partial<ActionDriver> = {}) {
  const { display, connection, signal } = await openScripted({ width: 640, height: 400 });
  const slept: number[] = [];
  const driver = Object.defineProperties(toDriver(connection, slept), Object.getOwnPropertyDescriptors(more));
  const operator = new Operator(driver, options);
  const perform = (action: ActionInput) => operator.perform(Action.parse(action), signal);
  return { operator, display, connection, signal, slept, perform };
}

const SHIFT = 0xff_e1;
const CTRL = 0xff_e3;

describe("actions at a display", () => {
  it("click with any button, as often as asked, with keys held", async () => {
    const { perform, display } = await openOperator();
    await perform({ action: "click", coordinate: [10, 20], button: "right", count: 2, modifiers: ["ctrl", "shift"] });
    expect(display.events).toEqual([
      ["pointer", 10, 20, 0],
      ["key", CTRL, true],
      ["key", SHIFT, true],
      ["pointer", 10, 20, 4],
      ["pointer", 10, 20, 0],
      ["pointer", 10, 20, 4],
      ["pointer", 10, 20, 0],
      ["key", SHIFT, false],
      ["key", CTRL, false],
    ]);
  });

  it("click where the pointer is when no point is given, and go back by the button at the mouse's side", async () => {
    const { perform, display } = await openOperator();
    await perform({ action: "click" });
    await perform({ action: "click", button: "back" });
    expect(display.events).toEqual([
      ["pointer", 320, 200, 1],
      ["pointer", 320, 200, 0],
      ["key", 0x10_08_ff_26, true],
      ["key", 0x10_08_ff_26, false],
    ]);
  });

  it("keep a button down through moves until it is released", async () => {
    const { perform, display } = await openOperator();
    await perform({ action: "mouse_down", coordinate: [1, 2] });
    await perform({ action: "mouse_move", delta: [5, 5] });
    await perform({ action: "mouse_up" });
    expect(display.events).toEqual([
      ["pointer", 1, 2, 0],
      ["pointer", 1, 2, 1],
      ["pointer", 6, 7, 1],
      ["pointer", 6, 7, 0],
    ]);
  });

  it("drag along a path in small steps that take their time", async () => {
    const { perform, display, slept } = await openOperator();
    await perform({
      action: "drag",
      path: [
        [0, 0],
        [40, 0],
        [40, 40],
      ],
      duration: 0.08,
    });
    expect(display.events[0]).toEqual(["pointer", 0, 0, 0]);
    expect(display.events[1]).toEqual(["pointer", 0, 0, 1]);
    expect(display.events.slice(2, -1)).toEqual([
      ["pointer", 10, 0, 1],
      ["pointer", 20, 0, 1],
      ["pointer", 30, 0, 1],
      ["pointer", 40, 0, 1],
      ["pointer", 40, 10, 1],
      ["pointer", 40, 20, 1],
      ["pointer", 40, 30, 1],
      ["pointer", 40, 40, 1],
    ]);
    expect(display.events.at(-1)).toEqual(["pointer", 40, 40, 0]);
    expect(slept.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(80);
  });

  it("scroll by clicks of the wheel, and by pixels of the screenshot", async () => {
    const { perform, display, operator } = await openOperator();
    await perform({ action: "scroll", dy: -2, dx: 1 });
    expect(display.events.map(([, , , buttons]) => buttons)).toEqual([8, 0, 8, 0, 64, 0]);
    display.events.length = 0;
    operator.show({ scale: 0.5 });
    await perform({ action: "scroll", dy: 240, unit: "pixels" });
    expect(display.events.map(([, , , buttons]) => buttons)).toEqual([16, 0, 16, 0, 16, 0, 16, 0]);
  });

  it("type text and press keys, as often as asked", async () => {
    const { perform, display } = await openOperator();
    await perform({ action: "type", text: "aÅ\r\n日" });
    await perform({ action: "key", keys: "ctrl+a", repeat: 2 });
    const pressed = display.events.filter(([kind, , down]) => kind === "key" && down).map(([, keysym]) => keysym);
    expect(pressed).toEqual([SHIFT, 97, 0xc5, 0xff_0d, 0x1_00_65_e5, CTRL, 97, 97]);
  });

  it("type nothing at all of a text that cannot be typed whole", async () => {
    const { perform, display } = await openOperator();
    await expect(perform({ action: "type", text: "ab\u0001" })).rejects.toThrow(/U\+0001 cannot be typed/);
    await expect(perform({ action: "type", text: "абвгдежзийклмнопрстуф" })).rejects.toMatchObject({
      error: "limit_exceeded",
    });
    expect(display.events).toEqual([]);
  });

  it("take keys back between characters when there are more than the keymap has room for", async () => {
    let freed = 0;
    const { perform, display } = await openOperator({}, { freeKeys: async () => void (freed += 1) });
    await perform({ action: "type", text: "абвгдежзийклмнопрстуфхцчшщъыьэюя" });
    expect(freed).toBe(1);
    // Two for each character, and shift twice.
    expect(display.events).toHaveLength(64 + 4);
  });

  it("hold keys for their time, and let go of them when that is cut short", async () => {
    const over = new AbortController();
    const { operator, display, perform, slept } = await openOperator();
    await perform({ action: "hold_key", keys: "w", duration: 2 });
    expect(slept).toEqual([2_000]);
    const driver = Object.defineProperties(
      {},
      {
        ...Object.getOwnPropertyDescriptors(operator.driver),
        sleep: { value: async () => over.abort(new Error("enough")) },
      },
    );
    // It has every property of a driver, which defineProperties cannot say.
    const late = new Operator(driver as ActionDriver);
    const cut = late.perform(
      Action.parse({
        action: "drag",
        path: [
          [1, 1],
          [9, 9],
        ],
        modifiers: ["shift"],
      }),
      over.signal,
    );
    await expect(cut).rejects.toThrow("enough");
    await operator.flush(new AbortController().signal);
    expect(display.events.slice(-2)).toEqual([
      ["pointer", 9, 9, 0],
      ["key", SHIFT, false],
    ]);
  });

  it("keep keys down from action to action until they are released or everything is", async () => {
    const { perform, display, operator } = await openOperator();
    await perform({ action: "key_down", key: "shift" });
    await perform({ action: "click", coordinate: [3, 3], modifiers: ["shift"] });
    await perform({ action: "mouse_down" });
    operator.hands.releaseAll();
    await operator.flush(new AbortController().signal);
    expect(display.events.filter(([kind]) => kind === "key")).toEqual([
      ["key", SHIFT, true],
      ["key", SHIFT, false],
    ]);
    expect(display.events.at(-1)).toEqual(["pointer", 3, 3, 0]);
  });

  it("count points in the pixels of the last screenshot of the whole screen", async () => {
    const { perform, display } = await openOperator();
    const { picture } = await perform({ action: "screenshot", max_long_edge: 64 });
    expect(picture).toMatchObject({ width: 64, height: 40, format: "png" });
    await perform({ action: "click", coordinate: [63, 39] });
    expect(display.events[0]).toEqual(["pointer", 635, 395, 0]);
    const zoom = await perform({ action: "zoom", region: [10, 10, 20, 20], format: "webp" });
    expect(zoom.picture).toMatchObject({ width: 100, height: 100, format: "webp" });
    expect(await perform({ action: "cursor_position" })).toMatchObject({ position: { x: 63, y: 39 } });
    expect((await perform({ action: "display_info" })).display).toEqual({
      width: 640,
      height: 400,
      screenshot_width: 64,
      screenshot_height: 40,
      scale: 0.1,
    });
    await expect(perform({ action: "click", coordinate: [64, 0] })).rejects.toMatchObject({ error: "invalid_input" });
  });

  it("show what is there, pixel by pixel", async () => {
    const { perform } = await openOperator();
    const { picture } = await perform({ action: "screenshot", region: [300, 200, 310, 205] });
    const { data, info } = await sharp(picture?.bytes).raw().toBuffer({ resolveWithObject: true });
    expect(info).toMatchObject({ width: 10, height: 5, channels: 3 });
    expect([...data.subarray(0, 3)]).toEqual([300 & 255, 200, 16]);
  });

  it("stop at the first that fails in a batch, and show the screen at the end", async () => {
    const { operator, signal, display, slept } = await openOperator({ settling: { quietMs: 70, maxMs: 500 } });
    const actions = [
      { action: "click", coordinate: [1, 1] },
      { action: "key", keys: "nonsense" },
      { action: "type", text: "never" },
    ].map((action) => Action.parse(action));
    const { items, picture } = await operator.batch(actions, { screenshot: true }, signal);
    expect(items.map((item) => (item.ok ? "done" : item.message))).toEqual([
      "done",
      'there is no key "nonsense"',
      NOT_EXECUTED,
    ]);
    expect(items.map((item) => item.ok || item.executed)).toEqual([true, true, false]);
    expect(picture).toMatchObject({ width: 640, height: 400 });
    expect(slept).toEqual([70]);
    expect(display.events).toHaveLength(3);
  });
});
