import type { Logger } from "../../core/context.ts";
import {
  type BrowserBox,
  type ChromiumOptions,
  connectDebugger,
  findChromium,
  startChromium,
} from "./chromium/start-chromium.ts";
import type { OpenBrowserOptions } from "./open-browser.ts";
import { BrowserThread } from "./thread/browser-thread.ts";

/** Milliseconds that one that waits for its session may take to answer. */
const WELL_MS = 2_000;

export interface BrowserSessionOptions extends ChromiumOptions, OpenBrowserOptions {}

/** A browser in a sandbox of its session's own, and the thread that works it. */
export class BrowserSession {
  readonly box: BrowserBox;
  readonly #thread: BrowserThread;

  private constructor(box: BrowserBox, thread: BrowserThread) {
    this.box = box;
    this.#thread = thread;
  }

  /** Starts the browser in a sandbox, which stays its caller's to stop where this throws. */
  static open(
    box: BrowserBox,
    options: BrowserSessionOptions,
    logger: Logger,
    signal: AbortSignal,
  ): Promise<BrowserSession> {
    return BrowserSession.#take(box, options, logger, signal, () => startChromium(box, options, signal));
  }

  /** Takes up a browser that a server before this one started; what its log and its list of downloads had is lost. */
  static find(
    box: BrowserBox,
    options: BrowserSessionOptions,
    logger: Logger,
    signal: AbortSignal,
  ): Promise<BrowserSession> {
    return BrowserSession.#take(box, options, logger, signal, () => findChromium(box, signal));
  }

  static async #take(
    box: BrowserBox,
    { width, height, maxTabs, timeoutMs }: BrowserSessionOptions,
    logger: Logger,
    signal: AbortSignal,
    toPath: () => Promise<string>,
  ): Promise<BrowserSession> {
    const thread = new BrowserThread(logger);
    try {
      const path = await toPath();
      const socket = await connectDebugger(box, signal);
      const options = { width, height, maxTabs, timeoutMs };
      await thread.open(socket, { path, files: box.files, options }, signal);
      return new BrowserSession(box, thread);
    } catch (error) {
      thread.close();
      throw error;
    }
  }

  /** Settles when the browser is gone. */
  get ended(): Promise<void> {
    return this.#thread.ended;
  }

  /** @throws ToolyardError `sandbox_dead` when the browser is gone */
  assertAlive(): void {
    this.#thread.assertAlive();
  }

  /** Runs a tool in the browser's thread. @throws what it throws */
  run(tool: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    return this.#thread.run(tool, params, signal);
  }

  /** Whether it answers. @throws the signal's reason */
  async isWell(signal: AbortSignal): Promise<boolean> {
    try {
      await this.run("tabs", {}, AbortSignal.any([signal, AbortSignal.timeout(WELL_MS)]));
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }

  async close(): Promise<void> {
    this.#thread.close();
    await this.box.stop();
  }
}
