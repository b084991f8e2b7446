import type { CookieData } from "puppeteer-core";
import { ToolyardError } from "../../../core/errors.ts";
import { type Input, tool } from "../../../core/tool.ts";
import {
  ConsoleResult,
  type Cookie,
  CookiesResult,
  DownloadsResult,
  LoadStateParams,
  LogParams,
  NetworkResult,
  ReadDownloadParams,
  ReadDownloadResult,
  SetCookiesParams,
  StateResult,
  StorageState,
} from "../schemas.ts";
import type { BrowserContext, OpenBrowser } from "../open-browser.ts";

const READ_ONLY = { readOnlyHint: true } as const;
const MAX_STORED = 5_000_000;

/** Tools for what a browser keeps: cookies, stored values, downloads, its log. */
export class StateTools {
  @tool({ description: "List the cookies.", result: CookiesResult, annotations: READ_ONLY })
  async cookies(_: object, context: BrowserContext) {
    return { cookies: await readCookies(alive(context)) };
  }

  @tool({ description: "Set cookies.", params: SetCookiesParams, result: CookiesResult })
  async setCookies({ cookies }: Input<typeof SetCookiesParams>, context: BrowserContext) {
    const session = alive(context);
    await setCookies(session, cookies);
    return { cookies: await readCookies(session) };
  }

  @tool({ description: "Forget all cookies.", result: CookiesResult })
  async clearCookies(_: object, context: BrowserContext) {
    const session = alive(context);
    await session.browser.deleteCookie(...(await session.browser.cookies()));
    return { cookies: await readCookies(session) };
  }

  @tool({
    description:
      "Take the cookies and the local storage of the pages that are open, to load them into another session.",
    result: StateResult,
    annotations: READ_ONLY,
  })
  async saveState(_: object, context: BrowserContext) {
    const session = alive(context);
    const origins = new Map<string, { name: string; value: string }[]>();
    for (const { page } of session.tabs.list()) {
      if (!/^https?:/.test(page.url())) continue;
      // oxlint-disable-next-line no-await-in-loop -- a few tabs
      const stored: unknown = await page.evaluate(READ_STORAGE).catch(() => "[]");
      origins.set(new URL(page.url()).origin, JSON.parse(String(stored).slice(0, MAX_STORED)));
    }
    const state: StorageState = {
      cookies: await readCookies(session),
      origins: [...origins].map(([origin, localStorage]) => ({ origin, localStorage })),
    };
    return { state: StorageState.parse(state) };
  }

  @tool({
    description: "Load what browser:save_state gave: cookies at once, local storage when a page of its origin comes.",
    params: LoadStateParams,
    result: CookiesResult,
  })
  async loadState({ state }: Input<typeof LoadStateParams>, context: BrowserContext) {
    const session = alive(context);
    if (state.cookies.length > 0) await setCookies(session, state.cookies);
    const script = toLoadStorage(state.origins);
    await session.tabs.onEach(async ({ page }) => {
      await page.evaluateOnNewDocument(script);
      // The pages that are there have loaded already.
      await page.evaluate(script).catch(() => undefined);
    });
    return { cookies: await readCookies(session) };
  }

  @tool({ description: "List what pages gave to download.", result: DownloadsResult, annotations: READ_ONLY })
  async downloads(_: object, context: BrowserContext) {
    return { downloads: [...alive(context).downloads.list()] };
  }

  @tool({
    description: "Read a stretch of a downloaded file; its path is one of the sandbox's files.",
    params: ReadDownloadParams,
    result: ReadDownloadResult,
    annotations: READ_ONLY,
  })
  async readDownload({ id, offset, length }: Input<typeof ReadDownloadParams>, context: BrowserContext) {
    const { downloads, files } = alive(context);
    const download = downloads.get(id);
    if (download === undefined) throw new ToolyardError("unknown_name", `there is no download ${id}`);
    if (download.state !== "completed") {
      throw new ToolyardError(
        "conflict",
        `the download is ${download.state === "canceled" ? "cancelled" : "under way"}`,
      );
    }
    const bytes = await files.read(download.path, { offset, length }, context.signal);
    const next = offset + bytes.length;
    return {
      ...download,
      base64: Buffer.from(bytes).toString("base64"),
      next_offset: next < download.bytes ? next : null,
    };
  }

  @tool({
    description:
      "Read what pages wrote to the console, exceptions that nobody caught and dialogs, which were dismissed.",
    params: LogParams,
    result: ConsoleResult,
    annotations: READ_ONLY,
  })
  async console({ after, limit }: Input<typeof LogParams>, context: BrowserContext) {
    return { entries: alive(context).log.console(after, limit) };
  }

  @tool({
    description: "List what pages asked the network for.",
    params: LogParams,
    result: NetworkResult,
    annotations: READ_ONLY,
  })
  async network({ after, limit }: Input<typeof LogParams>, context: BrowserContext) {
    return { entries: alive(context).log.network(after, limit) };
  }
}

function alive({ session }: BrowserContext): OpenBrowser {
  session.data.assertAlive();
  return session.data;
}

async function readCookies({ browser }: OpenBrowser): Promise<Cookie[]> {
  const cookies = await browser.cookies();
  return cookies.map(({ name, value, domain, path, expires, httpOnly, secure, sameSite }) => ({
    ...{ name, value, domain, path, expires, httpOnly, secure },
    ...(sameSite !== undefined && sameSite !== "Default" && { sameSite }),
  }));
}

async function setCookies({ browser }: OpenBrowser, cookies: readonly Cookie[]): Promise<void> {
  const wanted = cookies.map(
    ({ name, value, domain, path, expires, httpOnly, secure, sameSite }): CookieData => ({
      ...{ name, value, domain, path },
      ...(httpOnly !== undefined && { httpOnly }),
      ...(secure !== undefined && { secure }),
      ...(expires !== undefined && expires > 0 && { expires }),
      ...(sameSite !== undefined && { sameSite }),
    }),
  );
  try {
    await browser.setCookie(...wanted);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new ToolyardError("invalid_input", `the cookies cannot be set: ${said.slice(0, 400)}`, { cause: error });
  }
}

const READ_STORAGE = "JSON.stringify(Object.entries(localStorage).map(([name, value]) => ({ name, value })))";

/** Fills a page's storage once, before its own scripts run. */
function toLoadStorage(origins: StorageState["origins"]): string {
  const stored = Object.fromEntries(origins.map(({ origin, localStorage }) => [origin, localStorage]));
  return `(() => {
    const mine = ${JSON.stringify(stored)}[location.origin];
    const mark = "toolyard:loaded";
    if (mine === undefined || sessionStorage.getItem(mark) !== null) return;
    sessionStorage.setItem(mark, "1");
    for (const { name, value } of mine) localStorage.setItem(name, value);
  })()`;
}
