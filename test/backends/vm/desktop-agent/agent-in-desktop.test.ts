import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { recordingLogger } from "../../../kit/recording-logger.ts";
import { lackingForDesktops, localRuntimes } from "../local-desktops.ts";
import { hasProgram, openVmSession } from "./session.ts";

const lacking =
  (await lackingForDesktops()) ??
  (hasProgram("mousepad") ? undefined : "mousepad is not installed: apt-get install mousepad") ??
  (hasProgram("dbus-send") ? undefined : "dbus is not installed: apt-get install dbus");
if (lacking !== undefined) console.warn(`skipped: the agent in a real desktop; ${lacking}`);

const open = (sessionConfig: Record<string, unknown> = {}) =>
  openVmSession(localRuntimes, { provider: "local" }, { width: 1024, height: 768, ...sessionConfig });
type Opened = Awaited<ReturnType<typeof open>>;

/** An editor with the focus, and its text by reference. */
async function openEditor({ call, one }: Opened) {
  await call("launch", { app: "mousepad" });
  const { window } = await call("wait_for", { window: { title: "Mousepad" }, timeout_ms: 30_000 });
  const { element } = await call("wait_for", { element: { role: "text", app: "mousepad" }, timeout_ms: 30_000 });
  const id: number = window.id;
  const ref: string = element.ref;
  await call("activate_window", { id });
  await call("click", { ref });
  const text = async () => (await one({ role: "text", app: "mousepad" })).text ?? "";
  return { id, ref, text };
}

describe.skipIf(lacking !== undefined)("the agent in a real desktop", () => {
  it("finds elements, and does with them what they can", async () => {
    const session = await open({ max_long_edge: 512 });
    const { call, fail, one } = session;
    const { id, ref, text } = await openEditor(session);
    expect(await call("set_element_value", { ref, value: "one\ntwo" })).toEqual({ ref, by: "program" });
    expect(await text()).toBe("one\ntwo");
    const whole = await call("find_element", { role: "bar", exact: true });
    expect(whole.elements).toEqual([]);
    expect((await one({ role: "bar", window_id: id })).role).toMatch(/ bar$/);
    expect(await call("find_element", { name: "no such thing" })).toMatchObject({ elements: [], truncated: null });
    const menu = await one({ role: "menu", name: "file", window_id: id });
    // The screenshots have half the size of the screen, and so have the boxes.
    expect(menu.box.y + menu.box.height).toBeLessThan(100);
    await call("click", { ref: menu.ref });
    const { element: item } = await call("wait_for", { element: { role: "menu item", name: "Save As" } });
    await call("key", { key: "Escape" });
    await call("wait_for", { element: { name: "Save As", exists: false } });
    await expect(fail("click", { ref: item.ref })).resolves.toMatchObject({ error: "business_failure" });
    await call("invoke_element", { ref: menu.ref });
    await call("wait_for", { element: { name: "Save As" } });
    await call("click", { ref });
    await call("wait_for", { element: { name: "Save As", exists: false } });
    const tree = await call("accessibility_tree", { window_id: id });
    expect(tree.elements[0]).toMatchObject({ role: "frame", parent: null });
    expect(tree.elements.map(({ ref: each }: { ref: string }) => each)).toContain(ref);
    expect(await call("accessibility_tree", { max_nodes: 3 })).toMatchObject({ truncated: "max_nodes" });
    expect((await call("accessibility_tree", { max_depth: 1 })).truncated).toBe("max_depth");
    const { accessibility_tree: xml } = await call("screenshot", { accessibility_tree: true });
    expect(xml).toContain(`<text ref="${ref}"`);
    await call("close_window", { id });
    await call("wait_for", { window: { title: "Save Changes" } });
    await call("click", { ref: (await one({ role: "button", name: "Don't Save" })).ref });
    await call("wait_for", { window: { title: "Mousepad", exists: false } });
    await expect(fail("focus_element", { ref })).resolves.toMatchObject({ error: "stale_ref" });
    await expect(fail("focus_element", { ref: "e99999" })).resolves.toMatchObject({ error: "stale_ref" });
    await expect(fail("window_info", { id })).resolves.toMatchObject({ error: "stale_ref" });
  });

  it("types and pastes all of Unicode right, and leaves the clipboard as it was", async () => {
    const session = await open();
    const { call } = session;
    const { ref, text } = await openEditor(session);
    const some = "ÆØÅ 日本 € 👍 Hello, World!";
    await call("type", { text: some });
    await expect.poll(text).toBe(some);
    await call("set_element_value", { ref, value: "" });
    await call("clipboard_set", { text: "kept" });
    await call("type", { text: `${some}\n`, method: "clipboard" });
    await expect.poll(text).toBe(`${some}\n`);
    expect(await call("clipboard_get")).toEqual({ type: "text", text: "kept" });
    await call("set_element_value", { ref, value: "" });
    const much = "ЖЩЫЭЮЯ абвгдеёжзийклмн αβγδεζηθ\nñßẞİı한글العربية";
    await call("type", { text: much });
    await expect.poll(text).toBe(much);
    await call("key", { key: "ctrl+a" });
    await call("key", { key: "ctrl+c" });
    await expect.poll(() => call("clipboard_get")).toEqual({ type: "text", text: much });
    await call("clipboard_set", { text: "ø".repeat(400_000) });
    await call("key", { key: "ctrl+v" });
    await expect.poll(async () => (await text()).length).toBe(1_000);
  });

  it("holds images on the clipboard", async () => {
    const { call, fail } = await open();
    expect(await call("clipboard_get")).toEqual({ type: "none" });
    const image = await sharp({ create: { width: 300, height: 300, channels: 3, background: "#3a7" } })
      .png({ compressionLevel: 0 })
      .toBuffer();
    expect(await call("clipboard_set", { image: image.toString("base64") })).toEqual({ type: "image" });
    expect(await call("clipboard_get")).toEqual({ type: "image", image: image.toString("base64") });
    expect(await call("clipboard_get", { type: "text" })).toEqual({ type: "none" });
    await expect(fail("clipboard_set", { image: "AAAA" })).resolves.toMatchObject({ error: "invalid_input" });
  });

  it("works windows", async () => {
    const session = await open();
    const { call } = session;
    const { id } = await openEditor(session);
    const { window: moved } = await call("set_window_position", { id, x: 40, y: 50 });
    expect(moved.box).toMatchObject({ x: 40, y: 50 });
    const { window: sized } = await call("set_window_size", { id, width: 500, height: 400 });
    expect(sized.box).toMatchObject({ width: 500, height: 400 });
    expect(await call("screenshot", { window_id: id })).toMatchObject({ size: [500, 400] });
    expect((await call("maximize_window", { id })).window.states).toContain("maximized");
    expect((await call("minimize_window", { id })).window.states).toContain("minimized");
    expect((await call("active_window")).window?.id).not.toBe(id);
    expect((await call("activate_window", { id })).window).toMatchObject({
      active: true,
      title: "Untitled 1 - Mousepad",
    });
    expect((await call("list_windows")).windows).toHaveLength(1);
    expect(await call("close_window", { id })).toEqual({ closed: true });
  });

  it("runs code with pyautogui in the desktop, points counted as in the screenshots", async () => {
    const session = await open({ max_long_edge: 512 });
    const { call, outcomes } = session;
    const { text } = await openEditor(session);
    const result = await call("pyautogui", {
      command: [
        "pyautogui.moveTo(100, 50, 0.2, pyautogui.easeOutBounce); print(pyautogui.position(), pyautogui.size())",
        "pyautogui.nonsense()",
        "pyautogui.write('Ab! ÆØÅ 日本 € 👍', interval=0.01); pyautogui.press('enter'); pyautogui.hotkey('shift', 'b')",
      ],
    });
    expect(result).toMatchObject({
      failed_indices: [1],
      results: [
        { success: true, stdout: "Point(x=100, y=50) Size(width=512, height=384)\n" },
        { success: false, error: expect.stringContaining("has no attribute 'nonsense'") },
        { success: true },
      ],
    });
    expect(outcomes).toEqual(["tool_error"]);
    expect(await call("cursor_position")).toEqual({ x: 100, y: 50 });
    await expect.poll(text).toBe("Ab! ÆØÅ 日本 € 👍\nB");
    const late = await call("pyautogui", { command: "while True: pass", timeout_ms: 300 });
    expect(late.results[0]).toMatchObject({ success: false, timed_out: true });
  });

  it("waits for what is asked, and no longer than that", async () => {
    const { call, fail } = await open();
    expect(await call("wait_for", { stable_screen: { quiet_ms: 50 } })).toMatchObject({ met: true });
    await call("launch", { app: "sh", args: ["-c", "sleep 0.5; echo yes > done.txt"] });
    expect(await call("wait_for", { command: "cat done.txt" })).toMatchObject({ met: true, stdout: "yes\n" });
    await expect(fail("wait_for", { window: { title: "nobody" }, timeout_ms: 300 })).resolves.toMatchObject({
      error: "timeout",
      details: { met: false },
    });
    await expect(fail("launch", { app: "no-such-program" })).resolves.toMatchObject({ error: "business_failure" });
    await expect(fail("open", { target: "no-such-file" })).resolves.toMatchObject({ error: "stale_ref" });
    const batch = await call("batch", {
      actions: [
        { action: "list_windows" },
        { action: "wait_for", window: { title: "nobody" }, timeout_ms: 1 },
        { action: "click" },
      ],
      screenshot: false,
    });
    expect(batch.results).toMatchObject([
      { ok: true, told: { windows: [] } },
      { ok: false, executed: true },
      { ok: false, executed: false },
    ]);
  });

  it("leaves out a program that hangs, and is started again when it dies", async () => {
    const session = await open();
    const { call, fail } = session;
    const { ref } = await openEditor(session);
    await call("run_command", { command: "kill -STOP $(pidof mousepad)" });
    expect(await call("accessibility_tree", { deadline_ms: 4_000 })).toMatchObject({ unresponsive_programs: 1 });
    await call("run_command", { command: "kill -CONT $(pidof mousepad)" });
    await call("run_command", { command: "kill -KILL $(pgrep -f desktop_agent.main -o)" });
    // Whatever was asked meanwhile, it comes back by itself.
    await expect
      .poll(() => call("list_windows").catch(() => null), { timeout: 30_000 })
      .toMatchObject({
        windows: [{ title: expect.stringContaining("Mousepad") }],
      });
    await expect(fail("focus_element", { ref })).resolves.toMatchObject({ error: "stale_ref" });
    const { elements } = await call("find_element", { role: "text" });
    expect(elements[0].ref).not.toBe(ref);
  });

  it("comes back with its desktop after a reset, and gives no reference anew", async () => {
    const session = await open();
    const { ref } = await openEditor(session);
    const { signal } = new AbortController();
    await session.backend.reset(session.session, { resource: "vm", logger: recordingLogger(), signal });
    await expect(session.fail("focus_element", { ref })).resolves.toMatchObject({ error: "stale_ref" });
    expect((await openEditor(session)).ref).not.toBe(ref);
  });
});
