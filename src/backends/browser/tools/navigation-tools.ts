import type { HTTPResponse, PuppeteerLifeCycleEvent } from "puppeteer-core";
import type { z } from "zod";
import { ToolyardError } from "../../../core/errors.ts";
import { type Input, tool } from "../../../core/tool.ts";
import {
  HistoryParams,
  Navigated,
  NavigateParams,
  NewTabParams,
  PageState,
  RenderParams,
  RenderResult,
  TabParams,
  TabsResult,
  WaitForParams,
} from "../schemas.ts";
import type { BrowserContext } from "../open-browser.ts";
import { endScript } from "../tabs/end-script.ts";
import { awaitElement, inTab, type Step, stateOf, until } from "../step.ts";

const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "data:", "about:", "file:", "blob:"]);

/** Tools that go to pages and wait for what is on them. */
export class NavigationTools {
  @tool({
    description: "Go to an address and wait for the page.",
    params: NavigateParams,
    result: Navigated,
    annotations: { title: "Open a page" },
  })
  async navigate(params: Input<typeof NavigateParams>, context: BrowserContext) {
    const url = checkUrl(params.url);
    return inTab(context, params, (step) => go(step, params, (options) => step.tab.page.goto(url, options)));
  }

  @tool({
    description: "Open an address in a tab of its own and answer the page's HTML as its scripts have made it.",
    params: RenderParams,
    result: RenderResult,
    annotations: { title: "Read a page with its scripts run", readOnlyHint: true },
  })
  async render(params: Input<typeof RenderParams>, context: BrowserContext) {
    const url = checkUrl(params.url);
    const { tabs } = context.session.data;
    context.session.data.assertAlive();
    const before = tabs.currentId;
    const tab = await tabs.create();
    try {
      return await inTab(context, { ...params, tab: tab.id }, async (step) => {
        const { status, title, url: first } = await go(step, params, (options) => tab.page.goto(url, options));
        if (tab.page.url().startsWith("chrome-error:")) {
          if (status !== null && status >= 400) return { url: first, title, status, html: "" };
          throw new ToolyardError("upstream_failed", "the page went on to one that does not load", {
            retryable: false,
          });
        }
        const html = (await tab.page.content()).slice(0, params.max_characters);
        return { url: tab.page.url(), title, status, html };
      });
    } finally {
      await tabs.close(tab).catch(() => undefined);
      const own = tabs.list().find(({ id }) => id === before);
      if (own !== undefined) await tabs.select(own);
    }
  }

  @tool({ description: "Go back to the page before.", params: HistoryParams, result: Navigated })
  async back(params: Input<typeof HistoryParams>, context: BrowserContext) {
    return inTab(context, params, (step) => go(step, params, (options) => step.tab.page.goBack(options)));
  }

  @tool({ description: "Go forward again.", params: HistoryParams, result: Navigated })
  async forward(params: Input<typeof HistoryParams>, context: BrowserContext) {
    return inTab(context, params, (step) => go(step, params, (options) => step.tab.page.goForward(options)));
  }

  @tool({ description: "Load the page anew.", params: HistoryParams, result: Navigated })
  async reload(params: Input<typeof HistoryParams>, context: BrowserContext) {
    return inTab(context, params, (step) => go(step, params, (options) => step.tab.page.reload(options)));
  }

  @tool({
    description: "Wait until something is on the page, or is not there any more.",
    params: WaitForParams,
    result: PageState,
    annotations: { readOnlyHint: true },
  })
  async waitFor(params: Input<typeof WaitForParams>, context: BrowserContext) {
    return inTab(context, params, async (step) => {
      const { page } = step.tab;
      const { signal, timeoutMs } = step;
      if (params.network_idle) await page.waitForNetworkIdle({ timeout: timeoutMs, signal });
      else if (params.selector !== undefined && !params.gone) {
        await awaitElement(params.selector, step);
      } else if (params.selector !== undefined) {
        const { selector } = params;
        await until(async () => (await page.$(selector)) === null, step);
      } else {
        const condition = toCondition(params);
        await until(async () => Boolean(await page.evaluate(condition)), step);
      }
      return stateOf(step.tab);
    });
  }

  @tool({
    description: "List the tabs; pages may have opened some themselves.",
    result: TabsResult,
    annotations: { readOnlyHint: true },
  })
  async tabs(_: object, { session }: BrowserContext) {
    session.data.assertAlive();
    const { tabs } = session.data;
    const entries = tabs.list().map(async (tab) => ({ ...(await stateOf(tab)), current: tab.id === tabs.currentId }));
    return { tabs: await Promise.all(entries) };
  }

  @tool({ description: "Open a tab, which becomes the current one.", params: NewTabParams, result: Navigated })
  async newTab({ url, ...params }: Input<typeof NewTabParams>, context: BrowserContext) {
    const { tabs } = context.session.data;
    context.session.data.assertAlive();
    const checked = url === undefined ? undefined : checkUrl(url);
    const tab = await tabs.create();
    return inTab(context, { ...params, tab: tab.id }, async (step) => {
      if (checked === undefined) return { ...(await stateOf(tab)), status: null };
      return go(step, { wait_until: "load" }, (options) => tab.page.goto(checked, options));
    });
  }

  @tool({ description: "Make a tab the current one.", params: TabParams, result: PageState })
  async selectTab(params: Input<typeof TabParams>, context: BrowserContext) {
    return inTab(context, params, async ({ tab }) => stateOf(await context.session.data.tabs.select(tab)));
  }

  @tool({ description: "Close a tab.", params: TabParams, result: TabsResult })
  async closeTab(params: Input<typeof TabParams>, context: BrowserContext) {
    await inTab(context, params, ({ tab }) => context.session.data.tabs.close(tab));
    return this.tabs({}, context);
  }
}

function checkUrl(text: string): string {
  // As people write it: without a scheme, an address of the web is meant.
  const url = URL.parse(text) ?? URL.parse(`https://${text}`);
  const hasHost = /^[a-z0-9-]+(\.[a-z0-9-]+)*:\d+/i.test(text);
  const meant = url !== null && !SCHEMES.has(url.protocol) && hasHost ? URL.parse(`http://${text}`) : url;
  if (meant !== null && SCHEMES.has(meant.protocol)) return meant.href;
  throw new ToolyardError("invalid_url", `the browser does not go to ${JSON.stringify(text.slice(0, 200))}`, {
    suggestion: "Send an http or https address.",
  });
}

interface GoOptions {
  readonly waitUntil: PuppeteerLifeCycleEvent;
  readonly timeout: number;
}

async function go(
  { tab, timeoutMs, signal }: Step,
  { wait_until: wait }: { readonly wait_until: z.output<typeof HistoryParams>["wait_until"] },
  start: (options: GoOptions) => Promise<HTTPResponse | null>,
): Promise<z.infer<typeof Navigated>> {
  const stop = () => void tab.protocol.send("Page.stopLoading").catch(() => undefined);
  signal.addEventListener("abort", stop, { once: true });
  try {
    await endScript(tab);
    const response = await start({ waitUntil: wait === "networkidle" ? "networkidle0" : wait, timeout: timeoutMs });
    if (response !== null) await checkProxy(response);
    const state = await stateOf(tab);
    // The library gives 200 for what nobody answered, as data: and file:.
    if (response === null || !/^https?:/.test(response.url())) return { ...state, status: null };
    const status = response.status();
    // An error without a word: the browser shows a page of its own in its place.
    const isBare = status >= 400 && state.url.startsWith("chrome-error:");
    return { ...state, ...(isBare && { url: response.url(), title: "" }), status };
  } catch (error) {
    signal.throwIfAborted();
    throw ToolyardError.is(error) ? error : toNavigationError(error);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** An answer that the way out gave in the site's place is none of the page's. */
async function checkProxy(response: HTTPResponse): Promise<void> {
  if (response.headers()["proxy-status"]?.startsWith("toolyard;") !== true) return;
  const said = (await response.text().catch(() => ""))
    .replace(/^toolyard: /, "")
    .trim()
    .slice(0, 400);
  throw new ToolyardError(
    response.status() === 403 ? "address_refused" : "upstream_failed",
    said || "it is not reached",
  );
}

function toNavigationError(error: unknown): ToolyardError {
  const said = error instanceof Error ? error.message : String(error);
  const code = /net::(ERR_[A-Z_]+)/.exec(said)?.[1];
  if (code === "ERR_ABORTED") {
    return new ToolyardError("execution_error", "the page was not opened: it is a download, or another page came", {
      suggestion: "browser:downloads lists what was downloaded.",
      cause: error,
    });
  }
  if (code === "ERR_TUNNEL_CONNECTION_FAILED" || code === "ERR_PROXY_CONNECTION_FAILED") {
    return new ToolyardError("address_refused", "the session's network does not lead there", { cause: error });
  }
  if (code === "ERR_INTERNET_DISCONNECTED" || code === "ERR_NAME_NOT_RESOLVED") {
    return new ToolyardError("address_refused", `nothing leads there (${code})`, {
      suggestion: 'Check the name, and the session\'s network: session_config {"network": …}.',
      cause: error,
    });
  }
  // All but the sandbox itself is behind the proxy.
  if (code === "ERR_CONNECTION_REFUSED") {
    return new ToolyardError("upstream_failed", "nothing listens there in the sandbox, whose own localhost that is", {
      outcome: "tool_error",
      retryable: false,
      suggestion: "Start a server in the sandbox, or name the host by its public name.",
      cause: error,
    });
  }
  if (code !== undefined)
    return new ToolyardError("upstream_failed", `the page did not load: ${code}`, { cause: error });
  if (/exceeded|timeout/i.test(said))
    return new ToolyardError("timeout", "the page did not load in time", { cause: error });
  return new ToolyardError("execution_error", said.slice(0, 400), { cause: error });
}

/** A condition in the page's own words. */
function toCondition({ text, gone, url, expression }: Input<typeof WaitForParams>): string {
  if (expression !== undefined) return expression;
  if (url !== undefined) return `location.href.includes(${JSON.stringify(url)})`;
  const shown = `(document.body?.innerText ?? "").includes(${JSON.stringify(text)})`;
  return gone ? `!${shown}` : shown;
}
