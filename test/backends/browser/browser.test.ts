import type { IncomingMessage } from "node:http";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import type { ConsoleEntry } from "../../../src/backends/browser/tabs/page-log.ts";
import { browserServer, openSite, sandboxedBrowserLacking } from "./browser-server.ts";

if (sandboxedBrowserLacking !== undefined) console.warn(`skipped, the browser backend: ${sandboxedBrowserLacking}`);

const FORM = `<!doctype html><title>Order</title>
<h1>Order</h1><p id="hint">Fill <b>this</b> in, <a href="/terms">terms</a>.</p>
<form action="/done">
  <label>Name <input name="name" value="old"></label>
  <label>Wish <textarea name="wish"></textarea></label>
  <label>Size <select name="size"><option value="s">Small</option><option value="l">Large</option></select></label>
  <label><input type="checkbox" name="gift"> As a gift</label>
  <label>Day <input type="date" name="day"></label>
  <label>Letter <input type="file" name="letter"></label>
  <button>Send it</button>
</form>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<div style="height:3000px"></div><p id="end">The end</p>
<iframe srcdoc="<button>Inside</button>"></iframe>
<script>
  console.log("hello", 42); localStorage.setItem("seen", "yes"); document.cookie = "basket=7; path=/";
  setTimeout(() => { throw new Error("late failure") }, 0);
  document.querySelector("form").onsubmit = (event) => {
    event.preventDefault();
    const data = new FormData(event.target);
    document.title = "Sent";
    document.body.insertAdjacentHTML("beforeend", "<output>" + [...data].map(([k, v]) => k + "=" + (v.name ?? v)).join("|") + "</output>");
  };
</script>`;

function answer({ url = "/" }: IncomingMessage): {
  readonly type: string;
  readonly body: string;
  readonly extra?: object;
} {
  if (url === "/file") {
    return {
      type: "application/octet-stream",
      body: "0123456789",
      extra: { "content-disposition": 'attachment; filename="n.bin"' },
    };
  }
  if (url === "/popup") return { type: "text/html", body: `<button onclick="window.open('/terms')">Open</button>` };
  if (url === "/dialog") return { type: "text/html", body: `<title>Asked</title><script>alert("stop here")</script>` };
  if (url === "/terms") return { type: "text/html", body: "<title>Terms</title><main>Be kind.</main>" };
  return { type: "text/html", body: FORM };
}

const site = () =>
  openSite((request, response) => {
    const { type, body, extra } = answer(request);
    response.writeHead(200, { "content-type": type, ...extra });
    response.end(body);
  });

describe.skipIf(sandboxedBrowserLacking !== undefined)("a browser", () => {
  it("shows a page to agents, fills its form by refs and selectors, and reads it back", async () => {
    const { url, port } = await site();
    const { open, call, server, fail } = await browserServer({ config: { network: { allow: [`shop.test:${port}`] } } });
    const sessionId = await open();
    expect(await call("navigate", { url })).toMatchObject({ status: 200, title: "Order", url: `${url}/`, tab: 1 });
    const { snapshot, truncated } = await call("snapshot");
    expect(truncated).toBe(false);
    expect(snapshot).toContain('- heading "Order"');
    expect(snapshot).toMatch(/textbox "Name" value="old" \[ref=e\d+\]/);
    expect(snapshot).toContain('button "Inside"');
    const ref = (role: string, name: string): string => {
      const found = new RegExp(`${role} "${name}".*?\\[ref=(e\\d+)\\]`).exec(snapshot)?.[1];
      if (found === undefined) throw new Error(`${role} ${name} is not in:\n${snapshot}`);
      return found;
    };
    await call("fill", { ref: ref("textbox", "Name"), value: "ÆØÅ 日本 € 👍" });
    await call("fill", { selector: "textarea", value: "two\nlines" });
    await call("fill", { selector: "select", value: ["Large"] });
    await call("fill", { ref: ref("checkbox", "As a gift"), value: true });
    await call("fill", { selector: "input[type=date]", value: "2026-11-22" });
    const upload = `${server.url}/api/v1/session/${sessionId}/files?path=letter.txt`;
    expect((await fetch(upload, { method: "PUT", body: "Dear shop" })).ok).toBe(true);
    await call("upload", { selector: "input[type=file]", paths: ["letter.txt"] });
    expect(await call("click", { ref: ref("button", "Send it") })).toMatchObject({ title: "Sent" });
    const { text } = await call("text", { selector: "output" });
    expect(text).toBe("name=ÆØÅ 日本 € 👍|wish=two lines|size=l|gift=on|day=2026-11-22|letter=letter.txt");
    expect((await call("evaluate", { expression: "document.querySelector('textarea').value" })).value).toBe(
      "two\nlines",
    );
    expect(await fail("fill", { selector: "select", value: "Huge" })).toMatchObject({
      error: "execution_error",
      message: expect.stringContaining("it has Small, Large"),
    });
    expect(await fail("click", { ref: "e99999" })).toMatchObject({ error: "unknown_name", outcome: "rejected" });
    expect(await fail("click", { selector: "#nothing", timeout_ms: 300 })).toMatchObject({ outcome: "rejected" });
    expect(await fail("click", { selector: "##", timeout_ms: 300 })).toMatchObject({ error: "invalid_input" });
  });

  it("reads pages as text, Markdown and pictures, and runs scripts in them", async () => {
    const { url, port } = await site();
    const { open, call, fail } = await browserServer({ config: { network: { allow: [`shop.test:${port}`] } } });
    await open({ width: 800, height: 600 });
    await call("navigate", { url });
    expect((await call("text", { selector: "#hint" })).text).toBe("Fill this in, terms.");
    const { text: markdown } = await call("markdown");
    expect(markdown).toContain("# Order");
    expect(markdown).toContain(`Fill **this** in, [terms](${url}/terms).`);
    expect(markdown).toContain("| 1 | 2 |");
    const part = await call("text", { max_characters: 4, offset: 1 });
    expect([part.text, part.next_offset]).toEqual(["rder", 5]);
    const sizeOf = async (params: object) => {
      const { base64 } = await call("screenshot", params);
      const { width, height, format } = await sharp(Buffer.from(base64, "base64")).metadata();
      return { width, height, format };
    };
    expect(await sizeOf({})).toEqual({ width: 800, height: 600, format: "png" });
    expect(await sizeOf({ full_page: true, format: "jpeg" })).toMatchObject({ width: 800, format: "jpeg" });
    expect((await sizeOf({ selector: "h1", format: "webp" })).height).toBeLessThan(100);
    expect((await call("evaluate", { expression: "await Promise.resolve({ a: [1, document.title] })" })).value).toEqual(
      {
        a: [1, "Order"],
      },
    );
    expect((await call("evaluate", { selector: "h1", expression: "(element) => element.textContent" })).value).toBe(
      "Order",
    );
    for (const expression of ["[1n]", "Symbol('s')", "const a = {}; a.a = a; a", "window"]) {
      const { error, message } = await fail("evaluate", { expression });
      expect([error, message]).toEqual(["execution_error", expect.stringContaining("JSON")]);
    }
    expect(await fail("evaluate", { expression: "missing.thing" })).toMatchObject({
      error: "execution_error",
      outcome: "tool_error",
      message: expect.stringContaining("missing is not defined"),
    });
    expect(await fail("evaluate", { expression: "new Promise(() => {})", timeout_ms: 300 })).toMatchObject({
      error: "timeout",
      outcome: "limit",
    });
    await call("scroll", { dy: 500 });
    await expect.poll(async () => (await call("evaluate", { expression: "scrollY" })).value).toBeGreaterThan(0);
    const rendered = await call("render", { url: `${url}/terms` });
    expect(rendered).toMatchObject({ url: `${url}/terms`, status: 200, html: expect.stringContaining("Be kind.") });
    expect((await call("tabs")).tabs).toMatchObject([{ tab: 1, title: "Order", current: true }]);
    // Each comes when the browser tells it, in no certain order.
    const said = async () =>
      (await call("console")).entries.map(({ type, text, tab }: ConsoleEntry) => [tab, type, text]);
    await expect.poll(said).toContainEqual([1, "log", "hello 42"]);
    await expect.poll(said).toContainEqual([1, "exception", expect.stringContaining("late failure")]);
    const network = await call("network");
    expect(network.entries[0]).toMatchObject({
      method: "GET",
      url: `${url}/`,
      type: "document",
      status: 200,
      error: null,
    });
    expect((await call("network", { after: network.entries.at(-1).index })).entries).toEqual([]);
  });

  it("says that a page is too tall for one picture, and takes what is seen of it", async () => {
    const { open, call, fail } = await browserServer();
    await open();
    await call("navigate", { url: "data:text/html,<div style='height:2000000px'>tall</div>" });
    expect(await fail("screenshot", { full_page: true })).toMatchObject({ error: "business_failure" });
    expect(await call("screenshot")).toHaveProperty("base64");
  });

  it("waits for what is to come, presses keys, goes back and forth", async () => {
    const { url, port } = await site();
    const { open, call, fail } = await browserServer({ config: { network: { allow: [`shop.test:${port}`] } } });
    await open();
    await call("navigate", { url });
    await call("click", { selector: "::-p-text(terms)" });
    expect(await call("wait_for", { url: "/terms" })).toMatchObject({ title: "Terms" });
    await call("wait_for", { text: "Be kind." });
    expect(await call("back")).toMatchObject({ title: "Order" });
    expect(await call("forward")).toMatchObject({ title: "Terms" });
    expect(await call("reload")).toMatchObject({ title: "Terms", status: 200 });
    await call("evaluate", { expression: "setTimeout(() => document.querySelector('main').remove(), 50)" });
    await call("wait_for", { text: "Be kind.", gone: true });
    await call("wait_for", { selector: "main", gone: true });
    expect(await fail("wait_for", { selector: "#never", timeout_ms: 200 })).toMatchObject({ outcome: "rejected" });
    expect(await fail("wait_for", { expression: "false", timeout_ms: 200 })).toMatchObject({ error: "timeout" });
    await call("navigate", {
      url: "data:text/html,<input autofocus><p></p><script>onkeydown = (e) => document.querySelector('p').append([e.ctrlKey, e.shiftKey, e.key].join())</script>",
    });
    await call("press", { key: "ctrl+Shift+K", selector: "input" });
    expect((await call("text", { selector: "p" })).text).toContain("true,true,K");
    expect(await fail("press", { key: "NoSuchKey" })).toMatchObject({ error: "invalid_input" });
    expect(await fail("navigate", { url: "javascript:alert(1)" })).toMatchObject({ error: "invalid_url" });
    expect(await fail("navigate", { url: "chrome://version" })).toMatchObject({ error: "invalid_url" });
  });

  it("keeps tabs, those that pages open too, and is not stopped by dialogs", async () => {
    const { url, port } = await site();
    const { open, call, fail } = await browserServer({
      config: { max_tabs: 3, network: { allow: [`shop.test:${port}`] } },
    });
    await open();
    await call("navigate", { url: `${url}/popup` });
    await call("click", { selector: "button" });
    await expect
      .poll(async () => (await call("tabs")).tabs.map((tab: { title: string }) => tab.title))
      .toEqual(["", "Terms"]);
    expect((await call("text", { tab: 2, selector: "main" })).text).toBe("Be kind.");
    expect(await call("select_tab", { tab: 2 })).toMatchObject({ title: "Terms" });
    expect(await call("new_tab", { url: `${url}/dialog` })).toMatchObject({ title: "Asked", tab: 3 });
    expect((await call("console")).entries).toMatchObject([{ type: "dialog", text: "alert: stop here", tab: 3 }]);
    expect(await fail("new_tab")).toMatchObject({ error: "limit_exceeded" });
    expect(await fail("text", { tab: 9 })).toMatchObject({ error: "unknown_name" });
    const { tabs } = await call("close_tab", { tab: 3 });
    expect(tabs).toMatchObject([
      { tab: 1, current: false },
      { tab: 2, current: true },
    ]);
  });

  it("saves its state for another session, and keeps what it downloads", async () => {
    const { url, port } = await site();
    const { open, call, fail, server } = await browserServer({ config: { network: { allow: [`shop.test:${port}`] } } });
    const sessionId = await open();
    await call("navigate", { url });
    const { state } = await call("save_state");
    expect(state).toMatchObject({
      cookies: [{ name: "basket", value: "7", domain: "shop.test" }],
      origins: [{ origin: url, localStorage: [{ name: "seen", value: "yes" }] }],
    });
    expect(await fail("navigate", { url: `${url}/file` })).toMatchObject({
      message: expect.stringContaining("download"),
    });
    await expect
      .poll(async () => (await call("downloads")).downloads)
      .toMatchObject([{ filename: "n.bin", state: "completed" }]);
    const [download] = (await call("downloads")).downloads;
    const read = await call("read_download", { id: download.id, offset: 2, length: 3 });
    expect([Buffer.from(read.base64, "base64").toString(), read.next_offset]).toEqual(["234", 5]);
    const file = await fetch(`${server.url}/api/v1/session/${sessionId}/files?path=${download.path}`);
    expect(await file.text()).toBe("0123456789");
    await call("clear_cookies");
    await server.post("/api/v1/session/destroy", { worker_id: "w1", resource_type: "browser" });
    await open();
    state.origins[0].localStorage.push({ name: "more", value: "from elsewhere" });
    expect((await call("load_state", { state })).cookies).toMatchObject([{ name: "basket" }]);
    await call("navigate", { url: `${url}/terms` });
    expect((await call("evaluate", { expression: "[document.cookie, localStorage.more]" })).value).toEqual([
      "basket=7",
      "from elsewhere",
    ]);
  });

  it("B09 B10: reaches no address that its network does not lead to, by whatever name or redirect", async () => {
    const asked: string[] = [];
    const { port } = await openSite((request, response) => {
      asked.push(request.headers.host ?? "");
      response.writeHead(302, { location: `http://127.0.0.1:${port}/inner` });
      response.end();
    });
    // Names are looked up once per connection: what the second look would say is never connected to.
    const { open, fail } = await browserServer({
      lookup: async (host) => (host === "rebind.test" ? ["127.0.0.1"] : ["10.0.0.7"]),
      allowedAddresses: [],
    });
    await open();
    const spellings = ["169.254.169.254", "10.0.0.1", "[::ffff:10.0.0.1]", "0x0a000001", "rebind.test", "private.test"];
    for (const host of spellings) {
      // oxlint-disable-next-line no-await-in-loop -- one browser
      expect([host, await fail("navigate", { url: `http://${host}/` })]).toMatchObject([
        host,
        { error: "address_refused" },
      ]);
      // oxlint-disable-next-line no-await-in-loop
      expect(await fail("navigate", { url: `https://${host}/` })).toMatchObject({ error: "address_refused" });
    }
    // Its own loopback is the sandbox's, where nothing listens; the host's is not reached.
    expect(await fail("navigate", { url: `http://127.0.0.1:${port}/` })).toMatchObject({ error: "upstream_failed" });
    expect(await fail("navigate", { url: `http://localhost:${port}/` })).toMatchObject({ error: "upstream_failed" });
    expect(asked).toEqual([]);
  });

  it("refuses a network beyond the config's, and ends with its session", async () => {
    const { fail, open, server } = await browserServer({ config: { network: { allow: ["shop.test"] } } });
    await expect(open({ network: "public" })).rejects.toThrow(/network/);
    await expect(open({ network: { allow: ["other.test"] } })).rejects.toThrow(/network/);
    await open({ network: "none" });
    expect(await fail("navigate", { url: "http://shop.test/" })).toMatchObject({
      outcome: expect.not.stringMatching(/^ok$/),
    });
    const { body } = await server.execute("browser:evaluate", { expression: "1 + 1" });
    expect(body.data.value).toBe(2);
  });
});
