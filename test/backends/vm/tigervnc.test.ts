import { readFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { Action, type ActionInput } from "../../../src/backends/vm/actions/action.ts";
import { Desktop } from "../../../src/backends/vm/desktop/desktop.ts";
import { LocalDesktopProvider } from "../../../src/backends/vm/desktop/local-provider.ts";

const provider = new LocalDesktopProvider();
const lacking = await provider.check();
if (lacking !== undefined) console.warn(`skipped: the tests on a real display; ${lacking}`);
const { signal } = new AbortController();

async function openDesktop() {
  const spec = { sessionId: "s", workerId: "w", width: 800, height: 600 };
  const desktop = await Desktop.open(provider, spec, { clock: systemClock }, AbortSignal.timeout(40_000));
  onTestFinished(() => desktop.close());
  const perform = (action: ActionInput) => desktop.operator.perform(Action.parse(action), signal);
  const run = async (...command: string[]) => {
    const { stdout } = await desktop.running.exec({ command, timeoutMs: 20_000 }, signal);
    return stdout.text.trim();
  };
  return { desktop, perform, run };
}

describe.skipIf(lacking !== undefined)("a real display", () => {
  it("is ready when it shows something, and goes with all its processes", async () => {
    const { desktop, perform, run } = await openDesktop();
    const { picture } = await perform({ action: "screenshot" });
    const { channels } = await sharp(picture?.bytes).stats();
    expect(Math.max(...channels.map(({ max }) => max))).toBeGreaterThan(0);
    expect(picture).toMatchObject({ width: 800, height: 600 });
    const home = await run("sh", "-c", "echo $HOME");
    await desktop.close();
    await expect(readFile(path.join(home, "..", "vnc.sock"))).rejects.toThrow(/ENOENT/);
    await expect(perform({ action: "click" })).rejects.toMatchObject({ error: "sandbox_dead" });
  });

  it("has its pointer where the actions put it, and tells when a program moves it", async () => {
    const { perform, run, desktop } = await openDesktop();
    await perform({ action: "mouse_move", coordinate: [123, 45] });
    if ((await run("sh", "-c", "command -v xdotool")) === "") return console.warn("skipped: xdotool is not installed");
    expect(await run("xdotool", "getmouselocation")).toContain("x:123 y:45");
    await run("xdotool", "mousemove", "300", "200");
    await desktop.operator.flush(signal);
    expect(await perform({ action: "cursor_position" })).toMatchObject({ position: { x: 300, y: 200 } });
  });

  it("types all of Unicode right, read back from a terminal in it", async (context) => {
    const { perform, run, desktop } = await openDesktop();
    if ((await run("sh", "-c", "command -v xterm")) === "") return context.skip("xterm is not installed");
    const home = await run("sh", "-c", "echo $HOME");
    const typed = path.join(home, "typed.txt");
    const ready = path.join(home, "ready");
    void desktop.running
      .exec({ command: ["xterm", "-u8", "-e", "sh", "-c", "touch ../home/ready; cat > typed.txt"] }, signal)
      .catch(() => {});
    await expect.poll(() => readFile(ready, "utf8").catch(() => null), { timeout: 20_000 }).toBe("");
    // Its window may come, and be given the focus, some time after its shell.
    const isFocused = async () => {
      await perform({ action: "click", coordinate: [100, 100] });
      await perform({ action: "key", keys: "Return" });
      await desktop.operator.settledScreenshot(signal);
      return readFile(typed, "utf8").catch(() => "");
    };
    await expect.poll(isFocused, { timeout: 20_000 }).toMatch(/^\n+$/);
    const text =
      "ÆØÅ æøå 日本 € 👍 Hello, World! ~`|\\{}[]<>@#$%^&*()_+-='\"?/\n" +
      "ЖЩЫЭЮЯ абвгдеёжзийклмн αβγδεζηθ ñßẞİı한글العربية ẞẠ\nABCDEFGHIJKLMNOPQRSTUVWXYZ\n";
    await perform({ action: "type", text });
    const read = async () => (await readFile(typed, "utf8").catch(() => "")).trimStart();
    await expect.poll(read, { timeout: 20_000 }).toBe(text);
  });
});
