import type { KeyInput, Page } from "puppeteer-core";
import { systemClock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import { type Input, tool } from "../../../core/tool.ts";
import type { PageElement } from "../page/page-element.ts";
import {
  ClickParams,
  FillParams,
  HoverParams,
  PageState,
  PressParams,
  ScrollParams,
  UploadParams,
} from "../schemas.ts";
import type { BrowserContext } from "../open-browser.ts";
import { demandElement, elementOf, inTab, type Step, stateOf, until } from "../step.ts";

/** Tools that work a page as a person does. */
export class InputTools {
  @tool({
    description: "Click an element, or a point of what is seen.",
    params: ClickParams,
    result: PageState,
    annotations: { title: "Click on a page" },
  })
  async click(params: Input<typeof ClickParams>, context: BrowserContext) {
    const { x, y, button, count, modifiers } = params;
    return inTab(context, params, async (step) => {
      const { page } = step.tab;
      const point =
        x !== undefined && y !== undefined ? { x, y } : await (await demandElement(params, step)).point(step.signal);
      await withKeys(page, modifiers, () => page.mouse.click(point.x, point.y, { button, count }));
      await settle(step);
      return stateOf(step.tab);
    });
  }

  @tool({ description: "Move the mouse over an element.", params: HoverParams, result: PageState })
  async hover(params: Input<typeof HoverParams>, context: BrowserContext) {
    return inTab(context, params, async (step) => {
      const { x, y } = await (await demandElement(params, step)).point(step.signal);
      await step.tab.page.mouse.move(x, y);
      return stateOf(step.tab);
    });
  }

  @tool({
    description:
      "Fill a field with a value in place of what it has: text, a box to check, entries of a list to select.",
    params: FillParams,
    result: PageState,
    annotations: { title: "Fill in a field" },
  })
  async fill(params: Input<typeof FillParams>, context: BrowserContext) {
    return inTab(context, params, async (step) => {
      const element = await demandElement(params, step);
      await fill(step.tab.page, element, params.value);
      if (params.submit) {
        await element.focus();
        await step.tab.page.keyboard.press("Enter");
        await settle(step);
      }
      return stateOf(step.tab);
    });
  }

  @tool({ description: "Press a key, or several together.", params: PressParams, result: PageState })
  async press(params: Input<typeof PressParams>, context: BrowserContext) {
    const keys = toKeys(params.key);
    return inTab(context, params, async (step) => {
      const { page } = step.tab;
      await (await elementOf(params, step))?.focus();
      for (let turn = 0; turn < params.repeat; turn++) {
        step.signal.throwIfAborted();
        // oxlint-disable-next-line no-await-in-loop -- one after another
        await withKeys(page, keys.slice(0, -1), () => press(page, keys.at(-1) ?? ""));
      }
      await settle(step);
      return stateOf(step.tab);
    });
  }

  @tool({
    description: "Scroll the page, or what is under an element; an element alone is brought into view.",
    params: ScrollParams,
    result: PageState,
  })
  async scroll(params: Input<typeof ScrollParams>, context: BrowserContext) {
    return inTab(context, params, async (step) => {
      const { page } = step.tab;
      const point = await (await elementOf(params, step))?.point(step.signal);
      if (point !== undefined) await page.mouse.move(point.x, point.y);
      if (params.dx !== 0 || params.dy !== 0) await page.mouse.wheel({ deltaX: params.dx, deltaY: params.dy });
      return stateOf(step.tab);
    });
  }

  @tool({
    description: "Give files of the sandbox to a field that takes files.",
    params: UploadParams,
    result: PageState,
  })
  async upload(params: Input<typeof UploadParams>, context: BrowserContext) {
    return inTab(context, params, async (step) => {
      const { files } = context.session.data;
      const paths = params.paths.map((path) => (path.startsWith("/") ? path : `/workspace/${path}`));
      for (const path of paths) {
        // oxlint-disable-next-line no-await-in-loop -- a few
        const found = await files.stat(path, step.signal);
        if (found?.kind !== "file") throw new ToolyardError("path_not_found", `there is no file ${path}`);
      }
      await (await demandElement(params, step)).chooseFiles(paths);
      return stateOf(step.tab);
    });
  }
}

const SELECT = `function (wanted) {
  if (!(this instanceof HTMLSelectElement)) return "it is no list to select from";
  const options = [...this.options];
  const chosen = wanted.map((one) => options.find((o) => o.value === one) ?? options.find((o) => o.label.trim() === one));
  const missing = wanted.filter((_, index) => chosen[index] === undefined);
  if (missing.length > 0) return "it has no " + missing.join(", ") + "; it has " + options.map((o) => o.label.trim()).join(", ");
  if (!this.multiple && wanted.length > 1) return "only one entry of it can be selected";
  for (const option of options) option.selected = chosen.includes(option);
  this.dispatchEvent(new Event("input", { bubbles: true }));
  this.dispatchEvent(new Event("change", { bubbles: true }));
}`;

// What a person's text goes into is selected whole; other kinds of fields take their value as it is.
const PREPARE = `function (value) {
  if (this.disabled || this.readOnly) return "it cannot be changed";
  if (this instanceof HTMLInputElement && /^(color|date|datetime-local|month|range|time|week)$/.test(this.type)) {
    const setter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
    setter.call(this, value);
    if (this.value !== value) return "it does not take " + JSON.stringify(value);
    this.dispatchEvent(new Event("input", { bubbles: true }));
    this.dispatchEvent(new Event("change", { bubbles: true }));
    return "done";
  }
  if (this instanceof HTMLInputElement || this instanceof HTMLTextAreaElement) { this.focus(); this.select(); return "type"; }
  if (this.isContentEditable) {
    this.focus();
    const range = document.createRange();
    range.selectNodeContents(this);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return "type";
  }
  return "it takes no text";
}`;

const CHECKED = `function () {
  if (this instanceof HTMLInputElement && /^(checkbox|radio)$/.test(this.type)) return this.checked;
  const state = this.getAttribute("aria-checked");
  return state === null ? null : state === "true";
}`;

async function fill(page: Page, element: PageElement, value: string | boolean | readonly string[]): Promise<void> {
  if (typeof value === "boolean") return check(page, element, value);
  const isList = (await element.call("function () { return this instanceof HTMLSelectElement; }")) === true;
  if (isList || typeof value !== "string") return refuse(await element.call(SELECT, [value].flat()));
  const prepared = await element.call(PREPARE, value);
  if (prepared === "done") return;
  if (prepared !== "type") return refuse(prepared);
  if (value === "") await page.keyboard.press("Delete");
  else await page.keyboard.sendCharacter(value);
}

async function check(page: Page, element: PageElement, wanted: boolean): Promise<void> {
  const checked = await element.call(CHECKED);
  if (checked === null) refuse("it is no box to check");
  if (checked === wanted) return;
  const { x, y } = await element.point(AbortSignal.timeout(5_000));
  await page.mouse.click(x, y);
  if ((await element.call(CHECKED)) !== wanted) refuse(`it does not become ${wanted ? "checked" : "unchecked"}`);
}

function refuse(why: unknown): void {
  if (typeof why === "string") throw new ToolyardError("execution_error", `the field cannot be filled: ${why}`);
}

const NAMES: Readonly<Record<string, string>> = {
  ctrl: "Control",
  control: "Control",
  cmd: "Meta",
  command: "Meta",
  super: "Meta",
  option: "Alt",
  esc: "Escape",
  return: "Enter",
  del: "Delete",
  space: "Space",
  up: "ArrowUp",
  down: "ArrowDown",
  left: "ArrowLeft",
  right: "ArrowRight",
  pgup: "PageUp",
  pgdn: "PageDown",
};

/** `Control+Shift+T` as its keys; a plus sign by itself is one. */
function toKeys(combination: string): string[] {
  const keys = combination === "+" ? ["+"] : combination.replace(/\+\+$/, "+\u0000").split("+");
  return keys.map((key) => (key === "\u0000" ? "+" : (NAMES[key.toLowerCase()] ?? key)));
}

async function press(page: Page, key: string): Promise<void> {
  try {
    // Names that it does not know are told below.
    await page.keyboard.press(key as KeyInput);
  } catch (error) {
    if ([...key].length === 1) return page.keyboard.sendCharacter(key);
    throw new ToolyardError("invalid_input", `there is no key ${JSON.stringify(key)}`, { cause: error });
  }
}

async function withKeys(page: Page, keys: readonly string[], work: () => Promise<void>): Promise<void> {
  const held: string[] = [];
  try {
    for (const key of keys) {
      // oxlint-disable-next-line no-await-in-loop -- in their order
      await page.keyboard.down(key as KeyInput);
      held.push(key);
    }
    await work();
  } finally {
    for (const key of held.toReversed()) {
      // oxlint-disable-next-line no-await-in-loop
      await page.keyboard.up(key as KeyInput);
    }
  }
}

const SETTLE_MS = 50;
const SLOW_MS = 3_000;

/** What a click leads to has begun by then; a page that is on its way is waited for, but for no slow one. */
async function settle(step: Step): Promise<void> {
  await new Promise<void>((resolve) => systemClock.after(SETTLE_MS, resolve));
  const loaded = () => step.tab.page.evaluate("document.readyState !== 'loading'");
  try {
    // A tab that the click closed has nothing to wait for.
    await until(async () => step.tab.page.isClosed() || (await loaded()) === true, { ...step, timeoutMs: SLOW_MS });
  } catch (error) {
    if (!ToolyardError.is(error) || error.error !== "timeout" || step.signal.aborted) throw error;
  }
}
