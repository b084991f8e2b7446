import type { z } from "zod";
import { systemClock } from "../../core/clock.ts";
import { ToolyardError } from "../../core/errors.ts";
import { findElement, PageElement } from "./page/page-element.ts";
import type { PageState } from "./schemas.ts";
import type { BrowserContext } from "./open-browser.ts";
import { endScript } from "./tabs/end-script.ts";
import type { Tab } from "./tabs/tabs.ts";

/** The tab that a call means, within the time that it may take. */
export interface Step {
  readonly tab: Tab;
  readonly timeoutMs: number;
  /** Fires at the call's end, or at the step's own timeout. */
  readonly signal: AbortSignal;
}

interface Wanted {
  readonly tab?: number | undefined;
  readonly timeout_ms?: number | undefined;
}

/**
 * Does something in a tab, but no longer than the call wants.
 *
 * @throws ToolyardError `timeout` at the step's own timeout; `sandbox_dead` when the browser has gone meanwhile; what the work throws
 */
export async function inTab<T>(
  { session, signal }: BrowserContext,
  { tab, timeout_ms: wantedMs }: Wanted,
  work: (step: Step) => Promise<T>,
): Promise<T> {
  session.data.assertAlive();
  const meant = session.data.tabs.get(tab);
  const timeoutMs = wantedMs ?? session.data.timeoutMs;
  const late = new ToolyardError("timeout", `the browser was not done within ${timeoutMs} ms`, {
    details: { limit: "timeout_ms", timeout_ms: timeoutMs },
    suggestion: "A script that held the tab is ended now: try again, or go on in a new tab (browser:new_tab).",
  });
  const own = new AbortController();
  // What waits for an element says better than this what did not come, and does so first.
  const timer = setTimeout(() => own.abort(late), timeoutMs + GRACE_MS);
  const both = AbortSignal.any([signal, own.signal]);
  try {
    return await untilAborted(work({ tab: meant, timeoutMs, signal: both }), both);
  } catch (error) {
    session.data.assertAlive();
    // By itself: the answer does not wait for it, and the tab's next call finds it asked for.
    if (isTimeout(error) || both.aborted) void endScript(meant);
    both.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function isTimeout(error: unknown): boolean {
  return ToolyardError.is(error) ? error.error === "timeout" : error instanceof Error && error.name === "TimeoutError";
}

/** The element that a call names. */
export async function elementOf(
  { ref, selector }: { readonly ref?: string | undefined; readonly selector?: string | undefined },
  step: Step,
): Promise<PageElement | undefined> {
  if (ref !== undefined) return new PageElement(step.tab.refs.node(ref), step.tab.protocol);
  return selector === undefined ? undefined : awaitElement(selector, step);
}

/**
 * Waits for an element.
 *
 * @throws ToolyardError `unknown_name` when none came in time, `invalid_input` for what is no selector
 */
export async function awaitElement(selector: string, step: Step): Promise<PageElement> {
  const { tab, timeoutMs } = step;
  let element: PageElement | undefined;
  try {
    await until(async () => (element = await findElement(tab.page, tab.protocol, selector)) !== undefined, step);
  } catch (error) {
    if (!ToolyardError.is(error) || error.error !== "timeout") throw error;
  }
  if (element !== undefined) return element;
  throw new ToolyardError("unknown_name", `no element came that ${selector.slice(0, 200)} selects`, {
    details: { selector, timeout_ms: timeoutMs },
    suggestion: "Take a browser:snapshot to see what the page has.",
  });
}

/** As {@link elementOf}, for calls whose schema asks for one. */
export async function demandElement(named: Parameters<typeof elementOf>[0], step: Step): Promise<PageElement> {
  const element = await elementOf(named, step);
  if (element === undefined) throw new ToolyardError("missing_field", "name an element by ref or selector");
  return element;
}

const GRACE_MS = 250;
const MAX_TITLE = 1_000;
const LOOK_MS = 50;

export async function stateOf(tab: Tab): Promise<z.infer<typeof PageState>> {
  // A page that is on its way elsewhere has none for a moment.
  const title = await tab.protocol
    .send("Runtime.evaluate", { expression: "document.title", returnByValue: true })
    .then(({ result }) => (typeof result.value === "string" ? result.value : ""))
    .catch(() => "");
  return { tab: tab.id, url: tab.page.url(), title: title.slice(0, MAX_TITLE) };
}

/**
 * Looks again and again until something holds, also in a tab that is not seen, where a page's own timers stand still.
 *
 * @throws ToolyardError `timeout`; the signal's reason
 */
export async function until(holds: () => Promise<boolean>, { timeoutMs, signal }: Step): Promise<void> {
  const end = systemClock.now() + timeoutMs;
  for (;;) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- until it holds
      if (await holds()) return;
    } catch (error) {
      // A page that is on its way elsewhere cannot be asked.
      if (ToolyardError.is(error)) throw error;
    }
    signal.throwIfAborted();
    if (systemClock.now() >= end) {
      throw new ToolyardError("timeout", `it did not come within ${timeoutMs} ms`, {
        details: { limit: "timeout_ms", timeout_ms: timeoutMs },
      });
    }
    // oxlint-disable-next-line no-await-in-loop
    await new Promise<void>((resolve) => systemClock.after(LOOK_MS, resolve));
  }
}

/** Does not wait longer for what cannot be ended: the page may go on with it. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
