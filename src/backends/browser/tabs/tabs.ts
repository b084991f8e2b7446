import type { Browser, CDPSession, Page, Target } from "puppeteer-core";
import { ToolyardError } from "../../../core/errors.ts";
import { PageRefs } from "../page/page-refs.ts";
import type { PageLog } from "./page-log.ts";

/** One tab of a session. */
export interface Tab {
  /** Counts the session's tabs from 1. */
  readonly id: number;
  readonly page: Page;
  readonly protocol: CDPSession;
  readonly refs: PageRefs;
}

export interface TabsOptions {
  readonly maxTabs: number;
  readonly timeoutMs: number;
  readonly log: PageLog;
}

/** The tabs of a browser, those that pages open themselves too; one of them is the current one. */
export class Tabs {
  readonly #browser: Browser;
  readonly #options: TabsOptions;
  readonly #tabs = new Map<Page, Promise<Tab>>();
  readonly #open = new Map<number, Tab>();
  /** What is done in each tab, also in those that come later. */
  readonly #preparations: ((tab: Tab) => Promise<void>)[] = [];
  #nextId = 1;
  #current: Tab | undefined;

  private constructor(browser: Browser, options: TabsOptions) {
    this.#browser = browser;
    this.#options = options;
  }

  static async open(browser: Browser, options: TabsOptions): Promise<Tabs> {
    const tabs = new Tabs(browser, options);
    browser.on("targetcreated", (target) => void tabs.#onTarget(target));
    for (const page of await browser.pages()) {
      // oxlint-disable-next-line no-await-in-loop -- in their order
      await tabs.#take(page);
    }
    if (tabs.#open.size === 0) await tabs.create();
    return tabs;
  }

  list(): readonly Tab[] {
    return [...this.#open.values()];
  }

  get currentId(): number {
    return this.#current?.id ?? 0;
  }

  /**
   * A tab by its id, the current one by default.
   *
   * @throws ToolyardError `unknown_name` when there is none
   */
  get(id?: number): Tab {
    const tab = id === undefined ? this.#current : this.#open.get(id);
    if (tab !== undefined) return tab;
    const known = [...this.#open.keys()].join(", ");
    throw new ToolyardError("unknown_name", id === undefined ? "there is no tab" : `there is no tab ${id}`, {
      suggestion: known === "" ? "Open one with browser:new_tab." : `There are ${known}.`,
    });
  }

  /**
   * Opens a tab, which becomes the current one.
   *
   * @throws ToolyardError `limit_exceeded`
   */
  async create(): Promise<Tab> {
    const { maxTabs } = this.#options;
    if (this.#open.size >= maxTabs) {
      throw new ToolyardError("limit_exceeded", `a session may have ${maxTabs} tabs`, {
        details: { limit: "max_tabs", maximum: maxTabs },
        suggestion: "Close one with browser:close_tab.",
      });
    }
    return this.select(await this.#take(await this.#browser.newPage()));
  }

  async select(tab: Tab): Promise<Tab> {
    this.#current = tab;
    await tab.page.bringToFront();
    return tab;
  }

  /** Closes a tab; the newest of the others becomes the current one where it was that, and a new one where there is none. */
  async close(tab: Tab): Promise<void> {
    await tab.page.close();
    this.#forget(tab);
    if (this.#current === undefined) await this.create();
  }

  /** Does something in every tab, and in each that comes from now on before it is used. */
  async onEach(work: (tab: Tab) => Promise<void>): Promise<void> {
    this.#preparations.push(work);
    await Promise.all(this.list().map(work));
  }

  async #onTarget(target: Target): Promise<void> {
    if (target.type() !== "page") return;
    const page = await target.page().catch(() => null);
    if (page === null) return;
    if (this.#open.size >= this.#options.maxTabs && !this.#tabs.has(page)) {
      this.#options.log.add(this.currentId, "error", `a page opened more than ${this.#options.maxTabs} tabs`);
      await page.close().catch(() => undefined);
      return;
    }
    await this.#take(page).catch(() => undefined);
  }

  #take(page: Page): Promise<Tab> {
    const known = this.#tabs.get(page);
    if (known !== undefined) return known;
    const taking = this.#prepare(page, this.#nextId++);
    this.#tabs.set(page, taking);
    return taking;
  }

  async #prepare(page: Page, id: number): Promise<Tab> {
    const { log, timeoutMs } = this.#options;
    page.setDefaultTimeout(timeoutMs);
    // As if it were the one that a person looks at: a covered page would draw nothing and keep clicks waiting.
    await page.emulateFocusedPage(true);
    // A dialog stops its page until somebody answers it; nobody sits before this browser.
    page.on("dialog", (dialog) => {
      log.add(id, "dialog", `${dialog.type()}: ${dialog.message()}`);
      const answered = dialog.type() === "beforeunload" ? dialog.accept() : dialog.dismiss();
      void answered.catch(() => undefined);
    });
    const protocol = await page.createCDPSession();
    await log.watch(page, protocol, id);
    const tab: Tab = { id, page, protocol, refs: new PageRefs(page) };
    for (const prepare of this.#preparations) {
      // oxlint-disable-next-line no-await-in-loop -- in their order
      await prepare(tab);
    }
    this.#open.set(id, tab);
    this.#current ??= tab;
    page.once("close", () => this.#forget(tab));
    return tab;
  }

  #forget(tab: Tab): void {
    this.#open.delete(tab.id);
    this.#tabs.delete(tab.page);
    if (this.#current === tab) this.#current = [...this.#open.values()].at(-1);
  }
}
