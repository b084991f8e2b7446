import type { Browser } from "puppeteer-core";
import type { ToolContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import { loadLibrary } from "../../documents/load-library.ts";
import { openTransport } from "./chromium/debugger-transport.ts";
import {
  type BrowserBox,
  type ChromiumOptions,
  connectDebugger,
  DOWNLOADS,
  startChromium,
} from "./chromium/start-chromium.ts";
import { Downloads } from "./tabs/downloads.ts";
import { PageLog } from "./tabs/page-log.ts";
import { Tabs } from "./tabs/tabs.ts";

export interface BrowserSessionOptions extends ChromiumOptions {
  readonly maxTabs: number;
  readonly timeoutMs: number;
}

/** A browser in a sandbox of its session's own. */
export class BrowserSession {
  readonly box: BrowserBox;
  readonly tabs: Tabs;
  readonly log: PageLog;
  readonly downloads: Downloads;
  readonly timeoutMs: number;
  readonly browser: Browser;

  private constructor(
    box: BrowserBox,
    parts: Pick<BrowserSession, "browser" | "tabs" | "log" | "downloads" | "timeoutMs">,
  ) {
    this.box = box;
    this.browser = parts.browser;
    this.tabs = parts.tabs;
    this.log = parts.log;
    this.downloads = parts.downloads;
    this.timeoutMs = parts.timeoutMs;
  }

  /** Starts the browser in a sandbox, which stays its caller's to stop where this throws. */
  static async open(box: BrowserBox, options: BrowserSessionOptions, signal: AbortSignal): Promise<BrowserSession> {
    const { connect } = await loadLibrary("puppeteer-core", () => import("puppeteer-core"));
    const path = await startChromium(box, options, signal);
    const transport = await openTransport(await connectDebugger(box, signal), path, signal);
    const { width, height, maxTabs, timeoutMs } = options;
    const browser = await connect({ transport, defaultViewport: { width, height }, protocolTimeout: 0 });
    const log = new PageLog();
    const downloads = await Downloads.watch(browser, DOWNLOADS);
    const tabs = await Tabs.open(browser, { maxTabs, timeoutMs, log });
    return new BrowserSession(box, { browser, log, downloads, tabs, timeoutMs });
  }

  /** @throws ToolyardError `sandbox_dead` when the browser is gone */
  assertAlive(): void {
    if (this.browser.connected) return;
    throw new ToolyardError("sandbox_dead", "the session's browser is gone");
  }

  async close(): Promise<void> {
    await this.browser.disconnect().catch(() => undefined);
    await this.box.stop();
  }
}

export type BrowserContext = ToolContext<BrowserSession>;
