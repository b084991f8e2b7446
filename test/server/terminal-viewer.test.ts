import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it, onTestFinished } from "vitest";
import { LocalRuntime } from "../../src/runtimes/local/runtime.ts";
import { browserLacking, openBrowser } from "../kit/browser.ts";
import { startCodeServer } from "../kit/code-server.ts";

const { available, reason } = await new LocalRuntime().check(AbortSignal.timeout(60_000));
const lacking = browserLacking ?? (available ? undefined : reason);
if (lacking !== undefined) console.warn(`skipped: a terminal's viewer in a browser; ${lacking}`);

/** Everything that the viewer shows, what has scrolled away included. */
const linesOf = async (page: Page): Promise<string> =>
  String(
    await page.evaluate(`(() => {
      const { active } = terminal.buffer;
      return Array.from({ length: active.length }, (_, row) => active.getLine(row).translateToString(true)).join("\\n");
    })()`),
  );

describe.skipIf(lacking !== undefined)("xterm.js in a headless Chromium", () => {
  it("types in a sandbox's terminal and sees its output, and what scrolled away when it comes back", async () => {
    const folder = await mkdtemp(join(tmpdir(), "toolyard-viewer-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const server = await startCodeServer({ folder, runtime: "local" });
    onTestFinished(() => server.stop());
    const sessionId = await server.createSession("w1");
    const started = await server.call("w1", "terminal:start", { command: ["sh"] });
    expect(started.body).toMatchObject({ code: 0, data: { running: true } });
    await using browser = await openBrowser();
    const url = `${server.url.replace("http", "ws")}/ws/term/${sessionId}`;
    const page = await browser.open(server.url, "terminal.html", { url });
    await expect.poll(() => linesOf(page)).toContain("$ ");
    await page.keyboard.type('echo "typed $((6 * 7))"; seq 1000 1100');
    await page.keyboard.press("Enter");
    await expect.poll(() => linesOf(page), { timeout: 30_000 }).toContain("\n1100\n");
    expect(await linesOf(page)).toContain("\ntyped 42\n1000\n1001\n");

    await page.reload();
    await expect.poll(() => linesOf(page)).toContain("\n1100\n");
    expect(await linesOf(page)).toContain("\ntyped 42\n1000\n1001\n");
    await page.keyboard.type("exit 3");
    await page.keyboard.press("Enter");
    const status = async () => (await server.call("w1", "terminal:status", {})).body.data.terminals[0];
    await expect.poll(status).toMatchObject({ running: false, exit_code: 3 });
  });
});
