import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";

const PROGRAM = "/usr/bin/chromium";

/** Why no browser can be had here; `undefined` when one can. */
export const browserLacking = existsSync(PROGRAM)
  ? undefined
  : `${PROGRAM} is not installed (apt-get install chromium)`;

/** Where what pages ask for lies in this repository, by the first part of its path. */
const PLACES: Readonly<Record<string, string>> = {
  novnc: "../../node_modules/@novnc/novnc/",
  xterm: "../../node_modules/xterm-in-browser/",
};
const VIEWERS = "../../examples/viewers/";
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
};
/** What a browser in a test asks nobody for, and what it may not be disturbed by. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A headless Chromium of the test's own, to be ended by `await using`. */
export interface TestBrowser extends AsyncDisposable {
  /**
   * Opens a page of `examples/viewers` as if the server itself served it, so that its WebSockets are of the same origin. Nothing
   * of it comes over the network but the WebSocket.
   */
  open(serverUrl: string, page: string, hash: Readonly<Record<string, string>>): Promise<Page>;
}

export async function openBrowser(): Promise<TestBrowser> {
  const folder = await mkdtemp(path.join(tmpdir(), "toolyard-chromium-"));
  let context: BrowserContext;
  try {
    context = await chromium.launchPersistentContext(folder, {
      executablePath: PROGRAM,
      args: FLAGS,
      viewport: { width: 900, height: 700 },
      // A page that did not come over the network counts as one of far away, which may not reach this machine.
      permissions: ["local-network-access"],
    });
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    async open(serverUrl, name, hash) {
      const page = await context.newPage();
      await page.route(`${serverUrl}/viewers/**`, async (route) => {
        const [, , first = "", ...rest] = new URL(route.request().url()).pathname.split("/");
        const place = PLACES[first];
        const file = place === undefined ? VIEWERS + first : place + rest.join("/");
        const contentType = TYPES[path.extname(file)] ?? "application/octet-stream";
        await route.fulfill({ body: await readFile(new URL(file, import.meta.url)), contentType });
      });
      await page.goto(`${serverUrl}/viewers/${name}#${new URLSearchParams(hash)}`);
      return page;
    },
    async [Symbol.asyncDispose]() {
      await context.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
