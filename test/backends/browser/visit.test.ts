import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { openWeb } from "../web/web-doubles.ts";
import { browserServer, openSite, sandboxedBrowserLacking } from "./browser-server.ts";

if (sandboxedBrowserLacking !== undefined) console.warn(`skipped: web:visit by a browser; ${sandboxedBrowserLacking}`);

const PAGES: Readonly<Record<string, string>> = {
  "/": `<title>Shop</title><main id="list">loading</main>
    <script>setTimeout(() => (list.innerHTML = "<h1>Copper</h1><p>" + "It conducts well. ".repeat(30) + "</p>"))</script>`,
  "/leak": `<title>Leak</title><p id="told">nothing</p><iframe src="http://10.0.0.1/"></iframe><script>
    const ask = (url) => fetch(url).then((answer) => answer.text(), () => "refused");
    window.stop; Promise.all(["http://169.254.169.254/latest/", "http://[::ffff:10.0.0.1]/", "http://rebind.test/"].map(ask))
      .then((all) => { told.textContent = "told " + all.join("|").slice(0, 300); fetch("/told"); });
    </script><img src="/slow">`,
  "/go": `<title>Go</title><script>location.replace("http://169.254.169.254/latest/")</script><img src="/never">`,
  "/robots.txt": "User-agent: *\nDisallow: /private\n",
  "/private": "<p>private</p>",
};

/** A site whose `/slow` keeps a page loading until that has `/told` that what it asked for was answered; `/never` does for good. */
const openShop = () => {
  const told = Promise.withResolvers<void>();
  return openSite(({ url = "/" }, response: ServerResponse) => {
    if (url.startsWith("/jump")) {
      const location = decodeURIComponent(url.slice("/jump?".length));
      return void response.writeHead(302, { location }).end();
    }
    const page = PAGES[url];
    const type = url === "/robots.txt" ? "text/plain" : "text/html";
    const send = () => response.writeHead(page === undefined ? 404 : 200, { "content-type": type }).end(page);
    if (url === "/never") return;
    if (url === "/told") told.resolve();
    if (url === "/slow") void told.promise.then(send);
    else send();
  });
};

interface VisitorOptions {
  readonly robots?: "ignore";
  readonly more?: readonly string[];
}

async function openVisitor({ robots, more = [] }: VisitorOptions = {}) {
  const { port, url } = await openShop();
  let looked = 0;
  // One that changes its mind: public to the first who asks, private to the next.
  const lookup = async (name: string) => (name === "rebind.test" && looked++ === 0 ? ["93.184.216.34"] : ["127.0.0.1"]);
  const web = openWeb({
    config: { http: { private_hosts: [`shop.test:${port}`], ...(robots && { robots }) } },
    network: { lookup },
  });
  const allow = [`shop.test:${port}`, ...more];
  const browser = await browserServer({ config: { network: { allow } }, lookup, backends: [web] });
  await browser.open();
  const visit = async (params: object) =>
    (await browser.server.execute("web:visit", { browser: true, ...params })).body;
  return { ...browser, url, port, visit };
}

describe.skipIf(sandboxedBrowserLacking !== undefined)("web:visit by a real browser", () => {
  it("reads what a page's scripts have made of it, several pages in one browser, and leaves its tabs as they were", async () => {
    const { visit, url, call, server } = await openVisitor();
    const { data } = await visit({ urls: [url, `${url}/none`, `${url}/private`, `${url}/jump?/private`] });
    expect(data.pages[0]).toMatchObject({ status: 200, title: "Shop", text: expect.stringContaining("It conducts") });
    expect([data.pages[1].error, data.pages[1].status]).toEqual([undefined, 404]);
    expect(data.pages[2].error).toMatchObject({ name: "business_failure", details: { reason: "robots" } });
    expect(data.pages[3].error).toMatchObject({ name: "business_failure", details: { reason: "robots" } });
    expect((await visit({ urls: url })).data.pages[0].cached).toBe(true);
    expect((await call("tabs")).tabs).toMatchObject([{ tab: 1, url: "about:blank", current: true }]);
    const { body } = await server.execute("web:visit", { urls: url });
    expect(body.data.pages[0].text).toContain("loading");
  });

  it("B09 B10: reaches no address but those that both its own rules and the browser's let it, by whatever way", async () => {
    const { visit, url, port } = await openVisitor({ robots: "ignore", more: ["rebind.test:80", "10.0.0.1:80"] });
    const refused = [
      "http://169.254.169.254/",
      "http://[::ffff:169.254.169.254]/",
      "http://127.1/",
      "http://0x7f000001:9222/json/version",
      `http://localhost.:${port}/`,
      "http://[::1]/",
      "http://other.test/",
      `${url}/jump?${encodeURIComponent("http://169.254.169.254/latest/")}`,
      `${url}/jump?${encodeURIComponent("http://127.0.0.1:9222/json/version")}`,
    ];
    const { meta, data } = await visit({ urls: refused });
    const errors = (data.pages ?? data.errors).map(
      (each: { name?: string; error?: { name: string } }) => each.error?.name ?? each.name,
    );
    expect([meta?.error, errors]).toEqual(["all_failed", refused.map(() => "address_refused")]);
    for (const wrong of ["file:///etc/passwd", "gopher://127.0.0.1:70/"]) {
      // oxlint-disable-next-line no-await-in-loop -- one browser
      expect((await visit({ urls: wrong })).meta?.error).toBe("invalid_url");
    }
    expect((await visit({ urls: `${url}/go` })).meta?.error).toMatch(/^(address_refused|upstream_failed)$/);
    const { data: leak } = await visit({ urls: `${url}/leak`, full_page: true });
    expect(leak.pages[0].text).toContain("told");
    expect(leak.pages[0].text).not.toMatch(/Copper|loading|meta-data/);
  });
});
