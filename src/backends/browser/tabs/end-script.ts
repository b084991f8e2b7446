import type { CDPSession } from "puppeteer-core";
import { systemClock } from "../../../core/clock.ts";
import type { Tab } from "./tabs.ts";

/** How long a page may take to say that it can be asked. */
const PROBE_MS = 500;
/** A question is taken back each time that the tab sets out for another page. */
const ATTEMPTS = 3;

const underWay = new WeakMap<Tab, Promise<void>>();

/**
 * Ends a script that lets nothing else into its tab: without that the tab answers nobody any more, and is not even left. It must be
 * over before the tab sets out for another page, as from then on the old one is no longer spoken to.
 *
 * A tab that answers is left alone, as what is ended would be the next of its scripts.
 */
export function endScript(tab: Tab): Promise<void> {
  const running = underWay.get(tab);
  if (running !== undefined) return running;
  const ending = endIfSilent(tab.protocol).finally(() => underWay.delete(tab));
  underWay.set(tab, ending);
  return ending;
}

async function endIfSilent(protocol: CDPSession): Promise<void> {
  const silence = new Promise<boolean>((resolve) => systemClock.after(PROBE_MS, () => resolve(false)));
  if (await Promise.race([answers(protocol), silence])) return;
  // Heard by the renderer although its main thread is busy.
  await protocol.send("Runtime.terminateExecution").catch(() => undefined);
}

/** Resolves once a page answers, or when there is none to be asked any more. */
async function answers(protocol: CDPSession): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- the next only after the last was taken back
      await protocol.send("Runtime.evaluate", { expression: "0" });
      return true;
    } catch {
      // Taken back.
    }
  }
  return true;
}
