import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { desktopServer } from "./desktop-server.ts";
import { lackingForDesktops } from "./local-desktops.ts";

const lacking = await lackingForDesktops();
if (lacking !== undefined) console.warn(`skipped: the union of actions at a real display; ${lacking}`);

/** Each row of the union of actions that models and harnesses speak, by the tools that do it and their params. */
const UNION: Readonly<Record<string, readonly string[]>> = {
  screenshot: "format quality scale max_long_edge show_cursor region window_id as".split(" "),
  zoom: ["region"],
  cursor_position: [],
  display_info: [],
  accessibility_tree: "window_id app max_depth max_nodes format".split(" "),
  find_element: ["role", "name", "text"],
  focus_element: ["ref"],
  invoke_element: ["ref"],
  set_element_value: ["ref", "value"],
  terminal_text: [],
  mouse_move: ["coordinate", "delta", "duration", "modifiers"],
  left_click: ["coordinate", "modifiers", "ref"],
  right_click: ["coordinate", "modifiers"],
  middle_click: ["coordinate", "modifiers"],
  double_click: ["coordinate", "modifiers"],
  triple_click: ["coordinate", "modifiers"],
  click: ["button", "count", "ref", "coordinate"],
  mouse_down: ["button", "coordinate"],
  mouse_up: ["button", "coordinate"],
  left_mouse_down: [],
  left_mouse_up: [],
  left_click_drag: ["start_coordinate", "coordinate", "modifiers"],
  drag_path: ["path", "button", "duration", "modifiers"],
  drag_to: ["coordinate"],
  drag_rel: ["delta"],
  scroll: "coordinate direction clicks scroll_x scroll_y dx dy modifiers".split(" "),
  type: ["text", "delay_ms", "method"],
  key: ["key", "repeat"],
  press: ["key", "repeat"],
  keypress: ["keys"],
  hotkey: ["keys"],
  hold_key: ["keys", "duration"],
  key_down: ["key"],
  key_up: ["key"],
  wait: ["seconds"],
  wait_for: ["stable_screen", "window", "element", "command", "timeout_ms"],
  clipboard_get: [],
  clipboard_set: ["text", "image"],
  list_windows: [],
  active_window: [],
  window_info: ["id"],
  activate_window: ["id"],
  close_window: ["id"],
  minimize_window: ["id"],
  maximize_window: ["id"],
  set_window_size: ["id"],
  set_window_position: ["id"],
  launch: ["app", "args"],
  open: ["target"],
  start: [],
  stop: [],
  restart: [],
  status: [],
  change_resolution: ["width", "height"],
  processes: [],
  logs: [],
  stream_url: ["mode", "ttl_ms", "resize"],
  recording_start: ["fps", "crf", "max_duration", "label"],
  recording_stop: [],
  recording_status: [],
  recording_list: [],
  recording_download: [],
  recording_delete: [],
  upload_file: ["path", "content"],
  download_file: ["path", "offset", "length"],
  list_files: ["path"],
  run_command: ["command"],
  batch: ["actions"],
  observe: [],
  reset: ["snapshot"],
  evaluate: ["evaluator"],
  done: [],
  fail: ["reason"],
};

describe("the union of actions", () => {
  it("is there by its names, each with its parameters", async () => {
    const { server } = await desktopServer();
    const { body } = await server.get("/api/v1/tools");
    const tools = new Map(
      body.tools.map((tool: { full_name: string; parameters: object }) => [tool.full_name, tool.parameters]),
    );
    for (const [name, params] of Object.entries(UNION)) {
      const known = tools.get(`vm:${name}`);
      expect(known, `vm:${name}`).toBeDefined();
      for (const param of params) expect(JSON.stringify(known), `${param} of vm:${name}`).toContain(`"${param}":{`);
    }
  });
});

describe.skipIf(lacking !== undefined)("the union of actions at a display", () => {
  it("gives a screenshot as a link, which is fetched past the model's context, while it is one of the latest", async () => {
    const { server, open, call } = await desktopServer();
    const id = await open();
    const shown = await call("screenshot", { as: "link", format: "webp", max_long_edge: 320 });
    expect(shown).toMatchObject({ image: "", format: "webp", size: [320, 240] });
    const fetched = await fetch(server.url + shown.link);
    expect(fetched.headers.get("content-type")).toBe("image/webp");
    const metadata = await sharp(Buffer.from(await fetched.arrayBuffer())).metadata();
    expect(metadata).toMatchObject({ format: "webp", width: 320, height: 240 });
    // In a batch too, and of a part.
    const { results } = await call("batch", {
      actions: [{ action: "zoom", region: [0, 0, 10, 10], as: "link" }],
      screenshot: false,
    });
    const part = await fetch(server.url + results[0].screenshot.link);
    expect(await sharp(Buffer.from(await part.arrayBuffer())).metadata()).toMatchObject({ format: "png", width: 20 });
    await call("batch", { actions: Array(16).fill({ action: "screenshot", as: "link" }), screenshot: false });
    expect((await fetch(server.url + shown.link)).status).toBe(404);
    expect((await fetch(`${server.url}/api/v1/sandbox/${id}/desktop/screenshots/none`)).status).toBe(404);
  });

  it("works under its aliases", async () => {
    const { open, call } = await desktopServer();
    await open();
    const at = () => call("cursor_position");
    await call("left_mouse_down", { coordinate: [100, 90] });
    await call("mouse_move", { delta: [20, -10] });
    await call("left_mouse_up");
    expect(await at()).toEqual({ x: 120, y: 80 });
    await call("drag_to", { coordinate: [50, 60] });
    await call("drag_rel", { delta: [5, 5] });
    expect(await at()).toEqual({ x: 55, y: 65 });
    expect(await call("scroll", { coordinate: [7, 8], dy: 2 })).toMatchObject({ position: [7, 8] });
    expect(await call("double_click", { coordinate: [30, 40] })).toMatchObject({ clicked: [30, 40] });
    expect(await call("right_click")).toMatchObject({ clicked: [30, 40] });
    expect(await call("press", { key: "Escape" })).toEqual({ action: "key" });
    expect(await call("keypress", { keys: ["CTRL", "a"] })).toEqual({ action: "key" });
    const display = { width: 640, height: 480, dpi: 96 };
    expect(await call("display_info")).toMatchObject(display);
    expect((await call("act", { action: { action: "display_info" } })).told).toMatchObject(display);
  });

  it("refuses what is beyond an action's bounds as the caller's mistake", async () => {
    const { open, fail } = await desktopServer();
    await open();
    expect(await fail("scroll", { scroll_y: 1e9 })).toMatchObject({ error: "invalid_input", outcome: "rejected" });
    expect(await fail("click", { x: 1, coordinate: [1, 2] })).toMatchObject({ outcome: "rejected" });
    expect(await fail("mouse_move", {})).toMatchObject({ outcome: "rejected" });
  });
});
