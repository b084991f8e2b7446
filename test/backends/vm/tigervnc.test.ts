import sharp from "sharp";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { Action, type ActionInput } from "../../../src/backends/vm/actions/action.ts";
import { Desktop } from "../../../src/backends/vm/desktop/desktop.ts";
import { lackingForDesktops, localProvider } from "./local-desktops.ts";

const lacking = await lackingForDesktops();
if (lacking !== undefined) console.warn(`skipped: the tests on a real display; ${lacking}`);
const { signal } = new AbortController();

async function openDesktop() {
  const spec = { width: 800, height: 600, dpi: 96, sandbox: {} };
  const desktop = await Desktop.open(localProvider, spec, { clock: systemClock }, signal);
  onTestFinished(() => desktop.close());
  const perform = (action: ActionInput) => desktop.operator.perform(Action.parse(action), signal);
  const run = async (...command: string[]) => {
    const { stdout } = await desktop.running.exec({ command, timeoutMs: 20_000 }, signal);
    return stdout.text.trim();
  };
  const read = async (path: string) => {
    const { stdout } = await desktop.running.exec({ command: ["cat", path], timeoutMs: 20_000 }, signal);
    return stdout.text;
  };
  return { desktop, perform, run, read };
}

describe.skipIf(lacking !== undefined)("a real display", () => {
  it("is ready when it shows something, and goes with all its processes", async () => {
    const { desktop, perform, run } = await openDesktop();
    const { picture } = await perform({ action: "screenshot" });
    const { channels } = await sharp(picture?.bytes).stats();
    expect(Math.max(...channels.map(({ max }) => max))).toBeGreaterThan(0);
    expect(picture).toMatchObject({ width: 800, height: 600 });
    await desktop.close();
    await expect(run("true")).rejects.toMatchObject({ error: "sandbox_dead" });
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
    const { perform, run, read, desktop } = await openDesktop();
    if ((await run("sh", "-c", "command -v xterm")) === "") return context.skip("xterm is not installed");
    const command = ["xterm", "-u8", "-e", "sh", "-c", "touch ready; cat > typed.txt"];
    await desktop.running.spawn?.({ command }, signal);
    await expect.poll(() => run("ls"), { timeout: 30_000 }).toContain("ready");
    // Its window may come, and be given the focus, some time after its shell.
    const isFocused = async () => {
      await perform({ action: "click", coordinate: [100, 100] });
      await perform({ action: "key", keys: "Return" });
      await desktop.operator.settledScreenshot(signal);
      return read("typed.txt");
    };
    await expect.poll(isFocused, { timeout: 30_000 }).toMatch(/^\n+$/);
    const text =
      "ÆØÅ æøå 日本 € 👍 Hello, World! ~`|\\{}[]<>@#$%^&*()_+-='\"?/\n" +
      "ЖЩЫЭЮЯ абвгдеёжзийклмн αβγδεζηθ ñßẞİı한글العربية ẞẠ\nABCDEFGHIJKLMNOPQRSTUVWXYZ\n";
    await perform({ action: "type", text });
    const typed = async () => (await read("typed.txt")).trimStart();
    await expect.poll(typed, { timeout: 30_000 }).toBe(text);
  });
});
