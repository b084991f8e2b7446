import type { Duplex } from "node:stream";
import type { Browser, connect as Connect } from "puppeteer-core";
import { ToolyardError } from "../../core/errors.ts";
import type { SandboxFiles } from "../../core/sandbox-files.ts";
import { loadLibrary } from "../../documents/load-library.ts";
import { openTransport } from "./chromium/debugger-transport.ts";
import { DOWNLOADS } from "./chromium/start-chromium.ts";
import { Downloads } from "./tabs/downloads.ts";
import { PageLog } from "./tabs/page-log.ts";
import { Tabs } from "./tabs/tabs.ts";

/** How a browser is worked. */
export interface OpenBrowserOptions {
  readonly width: number;
  readonly height: number;
  readonly maxTabs: number;
  /** Of a step whose call says none. */
  readonly timeoutMs: number;
}

/** What tools need of the sandbox's files. */
export type BrowserFiles = Pick<SandboxFiles, "stat" | "read">;

/** A browser as its tools work it: everything that its debugger says is heard in the thread of its session alone. */
export class OpenBrowser {
  readonly browser: Browser;
  readonly tabs: Tabs;
  readonly log: PageLog;
  readonly downloads: Downloads;
  readonly files: BrowserFiles;
  readonly timeoutMs: number;

  private constructor(parts: Pick<OpenBrowser, "browser" | "tabs" | "log" | "downloads" | "files" | "timeoutMs">) {
    this.browser = parts.browser;
    this.tabs = parts.tabs;
    this.log = parts.log;
    this.downloads = parts.downloads;
    this.files = parts.files;
    this.timeoutMs = parts.timeoutMs;
  }

  /** Takes up the browser whose debugger is at the other end of a connection. */
  static async open(
    socket: Duplex,
    path: string,
    files: BrowserFiles,
    { width, height, maxTabs, timeoutMs }: OpenBrowserOptions,
    signal: AbortSignal,
  ): Promise<OpenBrowser> {
    const { connect } = await loadPuppeteer();
    const transport = await openTransport(socket, path, signal);
    const browser = await connect({ transport, defaultViewport: { width, height }, protocolTimeout: 0 });
    const log = new PageLog();
    const downloads = await Downloads.watch(browser, DOWNLOADS);
    const tabs = await Tabs.open(browser, { maxTabs, timeoutMs, log });
    return new OpenBrowser({ browser, log, downloads, tabs, files, timeoutMs });
  }

  /** @throws ToolyardError `sandbox_dead` when the browser is gone */
  assertAlive(): void {
    if (this.browser.connected) return;
    throw new ToolyardError("sandbox_dead", "the session's browser is gone");
  }
}

/** What a tool of a browser is given. */
export interface BrowserContext {
  readonly session: { readonly data: OpenBrowser };
  readonly signal: AbortSignal;
}

/** The library without what finds and starts browsers on this machine, which takes twice as long to load. */
export function loadPuppeteer() {
  return loadLibrary("puppeteer-core", async () => {
    const { connect } = await import("puppeteer-core/internal/puppeteer-core-browser.js");
    // It is the same function, typed in another file.
    return { connect: connect as unknown as typeof Connect };
  });
}
