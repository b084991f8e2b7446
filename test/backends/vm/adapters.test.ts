import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DIALECTS, type Dialect } from "../../../src/backends/vm/adapters/dialects.ts";
import { performForeign } from "../../../src/backends/vm/adapters/adapter.ts";
import { Operator } from "../../../src/backends/vm/actions/operator.ts";
import { type InputEvent, openScripted, toDriver } from "./scripted-display.ts";

const SIZE = { width: 128, height: 80 };
/** Models see it at half its size. */
const SHOWN = { scale: 0.5 };

async function openModel() {
  const { display, connection, signal } = await openScripted(SIZE);
  const slept: number[] = [];
  const operator = new Operator(toDriver(connection, slept), { showing: SHOWN });
  const perform = (dialect: Dialect, raw: unknown) => performForeign(DIALECTS[dialect], raw, operator, signal);
  return { display, operator, slept, perform };
}

const x = fc.integer({ min: 0, max: SIZE.width / 2 - 1 });
const y = fc.integer({ min: 0, max: SIZE.height / 2 - 1 });
/** The middle of what a pixel of the half-sized screenshot shows. */
const on = (value: number) => value * 2 + 1;
const CTRL = 0xff_e3;

/** Raw actions of each dialect beside the input that they mean. */
const MEANINGS: Readonly<Record<Dialect, fc.Arbitrary<readonly [raw: object, events: readonly InputEvent[]]>>> = {
  anthropic_computer_20241022: anthropic(["left", "right", "middle"], [1, 2]),
  anthropic_computer_20250124: anthropic(["left", "right", "middle"], [1, 2, 3]),
  anthropic_computer_20251124: anthropic(["left", "right", "middle"], [1, 2, 3]),
  anthropic_computer_toolset_20260801: anthropic(["left", "right", "middle"], [1, 2, 3]).map(([raw, events]) => {
    const { action, ...input } = raw as { action: string };
    return [{ type: "tool_use", id: "t", toolset_name: "computer", name: action, input }, events];
  }),
  openai_computer: fc
    .array(openai(), { minLength: 1, maxLength: 4 })
    .map((all) => [
      { type: "computer_call", call_id: "c", actions: all.map(([raw]) => raw) },
      all.flatMap(([, events]) => events),
    ]),
  openai_computer_use_preview: openai().map(([raw, events]) => [
    { type: "computer_call", call_id: "c", action: raw },
    events,
  ]),
  osworld_computer_13: named().map(([{ action_type, ...parameters }, events]) => [{ action_type, parameters }, events]),
  aio: named(),
};

function anthropic(buttons: readonly string[], counts: readonly number[]) {
  const click = fc
    .record({ x, y, button: fc.constantFrom(...buttons), held: fc.boolean() })
    .map(({ x, y, button, held }) => {
      const raw = { action: `${button}_click`, coordinate: [x, y], ...(held ? { text: "ctrl" } : {}) };
      return [raw, clicked(x, y, button, 1, held)] as const;
    });
  const several = fc.record({ x, y, count: fc.constantFrom(...counts) }).map(({ x, y, count }) => {
    const raw = { action: ["left_click", "double_click", "triple_click"][count - 1] ?? "", coordinate: [x, y] };
    return [raw, clicked(x, y, "left", count)] as const;
  });
  const move = fc.record({ x, y }).map(({ x, y }) => {
    return [{ action: "mouse_move", coordinate: [x, y] }, [["pointer", on(x), on(y), 0]]] as const;
  });
  return fc.oneof(click, several, move, typed("action", "type"));
}

function openai(): fc.Arbitrary<readonly [object, readonly InputEvent[]]> {
  const click = fc.record({ x, y, button: fc.constantFrom("left", "right", "wheel") }).map(({ x, y, button }) => {
    return [{ type: "click", x, y, button }, clicked(x, y, button === "wheel" ? "middle" : button, 1)] as const;
  });
  const scroll = fc.record({ x, y, clicks: fc.integer({ min: 1, max: 5 }), up: fc.boolean() });
  const scrolled = scroll.map(({ x, y, clicks, up }) => {
    // 120 pixels of the screen are a click, and 60 of a screenshot of half the size.
    const raw = { type: "scroll", x, y, scroll_x: 0, scroll_y: clicks * (up ? -60 : 60) };
    return [raw, [["pointer", on(x), on(y), 0] as const, ...wheel(x, y, up ? 8 : 16, clicks)]] as const;
  });
  const keys = fc.constant([
    { type: "keypress", keys: ["CTRL", "a"] },
    [
      ["key", CTRL, true],
      ["key", 97, true],
      ["key", 97, false],
      ["key", CTRL, false],
    ],
  ] as const);
  return fc.oneof(click, scrolled, keys, typed("type", "type"));
}

function named(): fc.Arbitrary<readonly [{ action_type: string }, readonly InputEvent[]]> {
  const click = fc.record({ x, y, count: fc.integer({ min: 1, max: 3 }) }).map(({ x, y, count }) => {
    return [{ action_type: "CLICK", x, y, button: "right", num_clicks: count }, clicked(x, y, "right", count)] as const;
  });
  const hotkey = fc.constant([
    { action_type: "HOTKEY", keys: ["ctrl", "c"] },
    [
      ["key", CTRL, true],
      ["key", 99, true],
      ["key", 99, false],
      ["key", CTRL, false],
    ],
  ] as const);
  return fc.oneof(click, hotkey, typed("action_type", "TYPING"));
}

function typed<K extends string>(key: K, name: string) {
  return fc.string({ maxLength: 12 }).map((text) => {
    const raw = { [key]: name, text } as Record<K, string> & { text: string };
    const events = [...text].flatMap((character) => [
      ["key", character.charCodeAt(0), true] as const,
      ["key", character.charCodeAt(0), false] as const,
    ]);
    return [raw, events] as const;
  });
}

function clicked(x: number, y: number, button: string, count: number, held = false): InputEvent[] {
  const bit = { left: 1, middle: 2, right: 4 }[button] ?? 0;
  const presses = Array.from(
    { length: count },
    () =>
      [
        ["pointer", on(x), on(y), bit],
        ["pointer", on(x), on(y), 0],
      ] as const,
  );
  const key = (down: boolean): InputEvent[] => (held ? [["key", CTRL, down]] : []);
  return [["pointer", on(x), on(y), 0], ...key(true), ...presses.flat(), ...key(false)];
}

function wheel(x: number, y: number, bit: number, clicks: number): InputEvent[] {
  return Array.from(
    { length: clicks },
    () =>
      [
        ["pointer", on(x), on(y), bit],
        ["pointer", on(x), on(y), 0],
      ] as const,
  ).flat();
}

describe("a model's raw action", () => {
  for (const dialect of Object.keys(MEANINGS) as Dialect[]) {
    it(`of ${dialect} becomes the input that it means`, async () => {
      const { display, perform, slept } = await openModel();
      await fc.assert(
        fc.asyncProperty(MEANINGS[dialect], async ([raw, events]) => {
          display.events.length = 0;
          expect((await perform(dialect, raw)).error).toBeNull();
          expect(display.events).toEqual(events);
        }),
        { numRuns: 40 },
      );
      expect(slept.every((ms) => ms <= 150)).toBe(true);
    });

    it(`of ${dialect} is done or refused as the caller's mistake, whatever it is`, async () => {
      const { perform } = await openModel();
      const junk = fc.oneof(
        fc.jsonValue(),
        fc.record({ action: fc.string(), type: fc.string(), action_type: fc.string() }),
      );
      await fc.assert(
        fc.asyncProperty(junk, async (raw) => {
          await expect(perform(dialect, raw)).rejects.toMatchObject({ error: "invalid_input" });
        }),
        { numRuns: 60 },
      );
    });
  }
});

describe("what a model's API gets back", () => {
  it.each([
    [{ action: "left_click", coordinate: [1, 2] }, "Clicked."],
    [{ action: "triple_click", coordinate: [1, 2] }, "Triple-clicked."],
    [{ action: "cursor_position" }, "X=1,Y=2"],
    [{ action: "key", text: "ctrl+s" }, "Pressed ctrl+s."],
    [{ action: "hold_key", text: "w", duration: 2 }, "Held w for 2s."],
    [{ action: "type", text: "hei" }, "Typed."],
    [{ action: "wait", duration: 1.5 }, "Waited 1.5s."],
    [{ action: "wait" }, "Waited 1s."],
    [{ action: "scroll", coordinate: [1, 2], scroll_direction: "up", scroll_amount: 3 }, "Scrolled up."],
    [{ action: "left_click_drag", start_coordinate: [0, 0], coordinate: [5, 5] }, "Dragged."],
    [{ action: "left_mouse_up" }, "Left mouse button released."],
  ])("is Anthropic's own text for %j", async (raw, text) => {
    const { perform } = await openModel();
    await perform("anthropic_computer_20251124", { action: "mouse_move", coordinate: [1, 2] });
    const { answer } = await perform("anthropic_computer_20251124", raw);
    expect(answer).toEqual({ content: [{ type: "text", text }], is_error: false });
  });

  it("is a picture of the size that the model counts in, and an error that it can read", async () => {
    const { perform } = await openModel();
    const { answer } = await perform("anthropic_computer_20241022", { action: "screenshot" });
    expect(answer).toMatchObject({
      is_error: false,
      content: [{ type: "image", source: { media_type: "image/png" } }],
    });
    const failed = await perform("anthropic_computer_20241022", { action: "left_click", coordinate: [64, 0] });
    expect(failed.answer).toEqual({
      content: [{ type: "text", text: "(64, 0) is outside the screenshot of 64x40" }],
      is_error: true,
    });
    await expect(perform("anthropic_computer_20241022", { action: "zoom", region: [0, 0, 1, 1] })).rejects.toThrow(
      /action/,
    );
  });

  it("is OpenAI's output item with the screen after a batch, which stops at a failure", async () => {
    const { perform, display } = await openModel();
    const actions = [
      { type: "move", x: 1, y: 1 },
      { type: "keypress", keys: ["nonsense"] },
      { type: "type", text: "no" },
    ];
    const { answer, error } = await perform("openai_computer", { type: "computer_call", call_id: "c7", actions });
    expect(answer).toMatchObject({
      type: "computer_call_output",
      call_id: "c7",
      output: { type: "computer_screenshot", image_url: expect.stringMatching(/^data:image\/png;base64,/) },
    });
    expect(error).toBe('there is no key "nonsense"');
    expect(display.events).toEqual([["pointer", 3, 3, 0]]);
    await expect(perform("openai_computer_use_preview", { actions })).rejects.toMatchObject({ error: "invalid_input" });
  });

  it("is OSWorld's step, which ends with DONE and FAIL", async () => {
    const { perform } = await openModel();
    const { answer } = await perform("osworld_computer_13", { action_type: "MOVE_TO", parameters: { x: 1, y: 1 } });
    expect(answer).toMatchObject({ done: false, info: {}, obs: { screenshot: expect.any(String) } });
    expect(await perform("osworld_computer_13", "DONE")).toMatchObject({
      ended: "done",
      answer: { done: true, info: { done: true } },
    });
    expect(await perform("osworld_computer_13", { action_type: "FAIL" })).toMatchObject({ ended: "fail" });
  });

  it("is AIO's status", async () => {
    const { perform } = await openModel();
    expect((await perform("aio", { action_type: "DRAG_REL", x_offset: 3, y_offset: 4 })).answer).toEqual({
      status: "success",
      action_performed: "DRAG_REL",
    });
    expect((await perform("aio", { action_type: "PRESS", key: "nonsense" })).answer).toMatchObject({ status: "error" });
  });
});
