import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { createEgress } from "../../../src/egress/egress.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";
import { docker, missingEngine, openDeployment, type TestDeployment } from "../../kit/docker-engine.ts";
import { recordingLogger } from "../../kit/recording-logger.ts";
import { startVmSession } from "./desktop-agent/session.ts";

const missing =
  missingEngine ??
  (await docker
    .getImage("toolyard/desktop")
    .inspect()
    .then(
      () => null,
      () => "the engine has no image toolyard/desktop; remedy: toolyard images build desktop",
    ));
if (missing !== null) console.warn(`skipped: a browser and an editor in a desktop; ${missing}`);

const TEXT = "ÆØÅ 日本 € 👍";
const PAGE = `<!doctype html><meta charset=utf-8><title>Order</title><h1>Order a boat</h1>
<form action=/order method=post accept-charset=utf-8>
<label>Name <input name=name autocomplete=off></label> <label><input type=checkbox name=sail value=yes> With a sail</label>
<button>Send the order</button></form>
<div style="height:3000px"></div><p>The very end</p>`;
const LONG = { timeout: 60_000, interval: 250 };

/** A shop on this machine, which desktops reach through the proxy of their list of hosts only; it keeps what was ordered. */
async function openShop() {
  const orders: URLSearchParams[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const isOrder = request.url === "/order";
    if (isOrder) orders.push(new URLSearchParams(body));
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(isOrder ? `<title>Thanks</title><h1>Thanks, ${orders.at(-1)?.get("name")}</h1>` : PAGE);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  // Its address is one of a listening server.
  const { port } = server.address() as AddressInfo;
  return { server, orders, url: `http://shop.test:${port}/`, host: `shop.test:${port}` };
}

describe.skipIf(missing !== null)("a browser and an editor in a desktop", () => {
  let deployment: TestDeployment;
  let shop: Awaited<ReturnType<typeof openShop>>;
  let desktop: Awaited<ReturnType<typeof startVmSession>>;

  beforeAll(async () => {
    deployment = await openDeployment();
    shop = await openShop();
    const egress = createEgress({
      ...{ clock: systemClock, logger: recordingLogger(), allowedAddresses: ["127.0.0.0/8"] },
      lookup: async () => ["127.0.0.1"],
    });
    const runtimes = createRuntimeSelector({ order: ["docker"], runtimes: [deployment.runtime({ egress })] });
    desktop = await startVmSession(runtimes, { network: { allow: [shop.host] } }, { width: 1280, height: 800 });
  }, 120_000);

  afterAll(async () => {
    await desktop?.close();
    shop?.server.close();
    await deployment?.[Symbol.asyncDispose]();
  });

  it("opens a page, fills its form in by what is in it, reads it back, and sends it", async () => {
    const { call, one } = desktop;
    await call("open", { target: shop.url });
    await call("wait_for", { element: { role: "heading", name: "Order a boat" }, timeout_ms: 90_000 });
    await call("wait_for", { stable_screen: {} });
    const field = await one({ role: "entry", name: "Name", app: "chromium" });
    await call("click", { ref: field.ref });
    await call("type", { text: TEXT });
    await expect.poll(async () => (await one({ role: "entry", name: "Name" })).text, LONG).toBe(TEXT);
    await call("click", { ref: (await one({ role: "check box", name: "With a sail" })).ref });
    await expect.poll(async () => (await one({ role: "check box", name: "sail" })).states, LONG).toContain("checked");
    await call("set_element_value", { ref: field.ref, value: `${TEXT} again` });
    await expect.poll(async () => (await one({ role: "entry", name: "Name" })).text, LONG).toBe(`${TEXT} again`);
    const tree = await call("accessibility_tree", { app: "chromium", format: "xml" });
    expect(tree.tree).toMatch(/<heading ref="e\d+" name="Order a boat"/);
    expect(tree.truncated).toBe(null);
    await call("click", { ref: (await one({ role: "push button", name: "Send the order" })).ref });
    await expect
      .poll(() => shop.orders.map((order) => Object.fromEntries(order)), LONG)
      .toEqual([{ name: `${TEXT} again`, sail: "yes" }]);
    await call("wait_for", { window: { title: "Thanks" }, timeout_ms: 60_000 });
    // The field went with its page.
    await expect
      .poll(() => desktop.fail("focus_element", { ref: field.ref }).catch(() => null), LONG)
      .toMatchObject({
        error: "stale_ref",
      });
  }, 180_000);

  it("scrolls a page, and clicks what had been out of sight", async () => {
    const { call, one } = desktop;
    await call("key", { key: "alt+Left" });
    await call("wait_for", { window: { title: "Order" }, timeout_ms: 60_000 });
    await call("wait_for", { element: { role: "heading", name: "Order a boat" }, timeout_ms: 60_000 });
    await expect(desktop.one({ text: "The very end" })).rejects.toThrow(/no element/);
    const { box } = await one({ role: "document web", name: "Order" });
    const at = { x: box.x + 200, y: box.y + 300 };
    // A page that has just come back takes no input for a while, and then goes to where it was.
    const scroll = (clicks: number, wanted: object) => async () => {
      await call("scroll", { ...at, clicks });
      return (await call("find_element", wanted)).elements.length;
    };
    await expect.poll(scroll(-60, { text: "The very end" }), LONG).toBeGreaterThan(0);
    await expect.poll(scroll(60, { role: "heading", name: "Order a boat" }), LONG).toBe(1);
    await expect.poll(async () => (await call("find_element", { text: "The very end" })).elements, LONG).toEqual([]);
    const end = await one({ text: "The very end", hidden: true });
    // As far as was asked for: pixels of a screenshot are those of the page.
    await call("scroll", { ...at, scroll_y: 240 });
    const scrolled = async () => end.box.y - (await one({ text: "The very end", hidden: true })).box.y;
    await expect.poll(scrolled, LONG).toBe(240);
    await call("click", { ref: end.ref });
    await call("wait_for", { element: { text: "The very end" }, timeout_ms: 60_000 });
  }, 180_000);

  it("drags a window, types into an editor, copies and pastes between programs, and finds it in the file", async () => {
    const { call, one } = desktop;
    await call("run_command", { command: ": > note.txt" });
    await call("open", { target: "note.txt" });
    const { window } = await call("wait_for", { window: { title: "note.txt" }, timeout_ms: 60_000 });
    const { element } = await call("wait_for", { element: { role: "text", app: "mousepad" }, timeout_ms: 60_000 });
    await call("set_window_size", { id: window.id, width: 600, height: 400 });
    const { window: before } = await call("set_window_position", { id: window.id, x: 30, y: 40 });
    const from = { start_x: before.box.x + 150, start_y: before.box.y + 9 };
    await call("drag", { ...from, end_x: from.start_x + 300, end_y: from.start_y + 200, duration: 0.4 });
    const dragged = async () => (await call("window_info", { id: window.id })).window.box;
    // A window manager takes the first pixels of a drag for a click that trembles.
    await expect.poll(async () => Math.abs((await dragged()).x - before.box.x - 300), LONG).toBeLessThan(12);
    expect(Math.abs((await dragged()).y - before.box.y - 200)).toBeLessThan(12);
    const shown = await call("screenshot", { window_id: window.id });
    expect(shown.size).toEqual([600, 400]);
    const { channels } = await sharp(Buffer.from(shown.image, "base64")).stats();
    expect(Math.max(...channels.map(({ stdev }) => stdev))).toBeGreaterThan(5);

    await call("click", { ref: element.ref });
    await call("type", { text: `${TEXT}\n` });
    await expect.poll(async () => (await one({ role: "text", app: "mousepad" })).text, LONG).toBe(`${TEXT}\n`);
    // From the page into the editor.
    const chromium = (await call("list_windows")).windows.find(({ title }: { title: string }) =>
      /Chromium/.test(title),
    );
    await call("activate_window", { id: chromium.id });
    await call("click", { ref: (await one({ role: "entry", name: "Name", app: "chromium", hidden: true })).ref });
    await call("type", { text: "from the page 頁" });
    await call("key", { key: "ctrl+a" });
    await call("key", { key: "ctrl+c" });
    await expect.poll(() => call("clipboard_get"), LONG).toEqual({ type: "text", text: "from the page 頁" });
    await call("activate_window", { id: window.id });
    await call("click", { ref: element.ref });
    await call("key", { key: "ctrl+End" });
    await call("key", { key: "ctrl+v" });
    await expect.poll(async () => (await one({ role: "text", app: "mousepad" })).text, LONG).toContain("頁");
    await call("key", { key: "ctrl+s" });
    const file = async () => (await call("run_command", { command: ["cat", "note.txt"] })).stdout;
    await expect.poll(file, LONG).toMatch(new RegExp(`^${TEXT}\nfrom the page 頁\n?$`));
  }, 180_000);

  it("works in a terminal, and reads what it shows", async () => {
    const { call } = desktop;
    await call("launch", { app: "xfce4-terminal" });
    const { element } = await call("wait_for", { element: { role: "terminal" }, timeout_ms: 60_000 });
    await call("click", { ref: element.ref });
    await call("type", { text: "echo $((6 * 7)) ÆØÅ\n" });
    await expect.poll(async () => (await call("terminal_text")).text, LONG).toMatch(/^42 ÆØÅ$/m);
  }, 120_000);
});
