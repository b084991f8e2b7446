import type { Page } from "playwright-core";
import { describe, expect, it, onTestFinished } from "vitest";
import VmBackend from "../../src/backends/vm/backend.ts";
import { lackingForDesktops, localRuntimes } from "../backends/vm/local-desktops.ts";
import { browserLacking, openBrowser } from "../kit/browser.ts";
import { testServer } from "../kit/test-server.ts";

const lacking = browserLacking ?? (await lackingForDesktops());
if (lacking !== undefined) console.warn(`skipped: noVNC in a browser; ${lacking}`);

/** A colour that nothing else on the desktop has. */
const COLOUR = "#12ab34";

/** A server with a real desktop, in which a terminal of that colour writes what is typed into a file. */
async function desktopServer() {
  const backend = new VmBackend({ config: { quiet_ms: 50, settle_ms: 1_000 }, runtimes: localRuntimes });
  const server = await testServer({ backends: [backend] });
  onTestFinished(() => server.stop({ force: true }));
  const { body } = await server.post("/api/v1/session/create", {
    worker_id: "w1",
    resource_type: "vm",
    session_config: { width: 640, height: 480 },
  });
  expect(body.code).toBe(0);
  const run = async (command: string) => {
    const answer = await server.execute("vm:run_command", { command });
    return String(answer.body.data.stdout);
  };
  await run(
    `setsid xterm -u8 -bg '${COLOUR}' -geometry 80x20+20+20 -e sh -c 'touch ready; cat > typed.txt' >/dev/null 2>&1 &`,
  );
  await expect.poll(() => run("ls")).toContain("ready");
  const sessionId: string = body.data.session_id;
  const url = async (mode: "view" | "control") => {
    const answer = await server.execute("vm:stream_url", { mode });
    return String(answer.body.data.url);
  };
  return { server, run, url, sessionId };
}

/** How many pixels of the viewer's canvas have the colour. */
const colouredPixels = (page: Page) =>
  page.evaluate(`(() => {
    const canvas = document.querySelector("canvas");
    if (canvas === null || canvas.width === 0) return 0;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (Math.abs(data[at] - 0x12) + Math.abs(data[at + 1] - 0xab) + Math.abs(data[at + 2] - 0x34) < 12) count += 1;
    }
    return count;
  })()`);

/** Types in the viewer, with the terminal in the desktop focused. */
async function type(page: Page, text: string): Promise<void> {
  await page.mouse.click(200, 150);
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

describe.skipIf(lacking !== undefined)("noVNC in a headless Chromium", () => {
  it("sees the desktop through the proxy, types into it, and is refused input where it may only watch", async () => {
    const { server, run, url } = await desktopServer();
    await using browser = await openBrowser();
    const watcher = await browser.open(server.url, "desktop.html", { url: await url("view") });
    await expect.poll(() => colouredPixels(watcher)).toBeGreaterThan(50_000);
    const canvas = await watcher.evaluate(
      `(() => { const { width, height } = document.querySelector("canvas"); return [width, height]; })()`,
    );
    expect(canvas).toEqual([640, 480]);

    const worker = await browser.open(server.url, "desktop.html", { url: await url("control") });
    await expect.poll(() => colouredPixels(worker)).toBeGreaterThan(50_000);
    await type(worker, "");
    const before = Number(await colouredPixels(watcher));
    // The viewer itself sends all of it: that it may not is the server's to say.
    await type(watcher, "from the watcher");
    await type(worker, "Hello from a human");
    await expect.poll(() => run("cat typed.txt"), { timeout: 30_000 }).toContain("Hello from a human\n");
    expect(await run("cat typed.txt")).not.toContain("watcher");
    // What the desktop shows of it is seen by whoever watches.
    await expect.poll(async () => Number(await colouredPixels(watcher)), { timeout: 30_000 }).toBeLessThan(before);
  });

  it("has the desktop to itself while its human has control: the agent is refused at once", async () => {
    const { server, run, url, sessionId } = await desktopServer();
    const at = `/api/v1/sandbox/${sessionId}/control`;
    const { body } = await server.post(`${at}/take`, { holder: "Ada" });
    await using browser = await openBrowser();
    const ada = await browser.open(server.url, "desktop.html", {
      url: `${await url("control")}&lease=${body.data.lease}`,
    });
    await expect.poll(() => colouredPixels(ada)).toBeGreaterThan(50_000);
    const refused = await server.execute("vm:type", { text: "from the agent\n" });
    expect(refused).toMatchObject({ status: 409, body: { meta: { error: "control_taken" } } });
    expect((await server.execute("vm:screenshot")).status).toBe(200);
    await type(ada, "by hand");
    await server.post(`${at}/release`, { lease: body.data.lease });
    await expect.poll(() => run("cat typed.txt"), { timeout: 30_000 }).toContain("by hand\n");
    expect((await server.execute("vm:type", { text: "from the agent\n" })).status).toBe(200);
    await expect.poll(() => run("cat typed.txt"), { timeout: 30_000 }).toContain("by hand\nfrom the agent\n");
  });
});
