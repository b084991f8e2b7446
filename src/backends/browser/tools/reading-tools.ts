import { ToolyardError } from "../../../core/errors.ts";
import { type Input, tool } from "../../../core/tool.ts";
import { openMarkdown } from "../../../documents/to-markdown.ts";
import { toPageError } from "../page/page-element.ts";
import { takeSnapshot } from "../page/snapshot.ts";
import {
  EvaluateParams,
  EvaluateResult,
  ScreenshotParams,
  ScreenshotResult,
  SnapshotParams,
  SnapshotResult,
  TextParams,
  TextResult,
} from "../schemas.ts";
import type { BrowserContext } from "../open-browser.ts";
import { elementOf, inTab, type Step, stateOf } from "../step.ts";

const READ_ONLY = { readOnlyHint: true } as const;
/** The most of a page that is turned into text. */
const MAX_PAGE = 20_000_000;

/** Tools that look at a page. */
export class ReadingTools {
  @tool({
    description:
      "See the page as a screen reader does: each element with its role, its name and a ref to work with it.",
    params: SnapshotParams,
    result: SnapshotResult,
    annotations: { title: "See the page's structure", ...READ_ONLY },
  })
  async snapshot(params: Input<typeof SnapshotParams>, context: BrowserContext) {
    return inTab(context, params, async ({ tab }) => {
      const bounds = { maxElements: params.max_elements, maxDepth: params.max_depth };
      const { text, elements, truncated } = await takeSnapshot(tab.protocol, tab.refs, bounds);
      return { ...(await stateOf(tab)), snapshot: text, elements, truncated };
    });
  }

  @tool({
    description: "Read the text that the page, or an element of it, shows.",
    params: TextParams,
    result: TextResult,
    annotations: READ_ONLY,
  })
  async text(params: Input<typeof TextParams>, context: BrowserContext) {
    return this.#read(params, context, "innerText", (text) => text);
  }

  @tool({
    description: "Read the page, or an element of it, as Markdown.",
    params: TextParams,
    result: TextResult,
    annotations: READ_ONLY,
  })
  async markdown(params: Input<typeof TextParams>, context: BrowserContext) {
    const toMarkdown = await openMarkdown();
    return this.#read(params, context, "outerHTML", toMarkdown);
  }

  @tool({
    description: "Take a picture of what is seen, of an element, or of the whole page.",
    params: ScreenshotParams,
    result: ScreenshotResult,
    annotations: READ_ONLY,
  })
  async screenshot(params: Input<typeof ScreenshotParams>, context: BrowserContext) {
    const { format, quality, full_page: fullPage } = params;
    return inTab(context, params, async (step) => {
      const { page } = step.tab;
      const element = await elementOf(params, step);
      const clip = element === undefined ? undefined : await boxOf(() => element.call(BOX));
      const picture = page.screenshot({
        type: format,
        ...(quality !== undefined && format !== "png" && { quality }),
        ...(clip === undefined ? { fullPage } : { clip }),
        encoding: "base64",
      });
      const base64 = await picture.catch((error: unknown) => {
        throw toPictureError(error);
      });
      return { ...(await stateOf(step.tab)), media_type: `image/${format}`, base64 };
    });
  }

  @tool({
    description: "Run JavaScript in the page and read its value.",
    params: EvaluateParams,
    result: EvaluateResult,
  })
  async evaluate(params: Input<typeof EvaluateParams>, context: BrowserContext) {
    return inTab(context, params, async (step) => {
      const element = await elementOf(params, step);
      const read =
        element === undefined
          ? evaluate(step, params.expression)
          : element.call(`function () { return (${params.expression}).call(undefined, this); }`);
      const value = await read.catch((error: unknown) => {
        throw toValueError(error);
      });
      return { ...(await stateOf(step.tab)), value: value ?? null };
    });
  }

  async #read(
    params: Input<typeof TextParams>,
    context: BrowserContext,
    property: "innerText" | "outerHTML",
    convert: (text: string) => string,
  ) {
    return inTab(context, params, async (step) => {
      const element = await elementOf(params, step);
      // What would make links absolute is asked of the page, which knows its own base.
      const body = property === "innerText" ? INNER_TEXT : OUTER_HTML;
      const read =
        element === undefined
          ? await evaluate(step, `(${body}).call(document.documentElement, ${MAX_PAGE})`)
          : await element.call(body, MAX_PAGE);
      const text = convert(String(read ?? ""));
      const end = params.offset + params.max_characters;
      return {
        ...(await stateOf(step.tab)),
        text: text.slice(params.offset, end),
        characters: text.length,
        next_offset: end < text.length ? end : null,
      };
    });
  }
}

const INNER_TEXT = `function (most) { return (this.innerText ?? this.textContent ?? "").slice(0, most); }`;
const OUTER_HTML = `function (most) {
  const copy = this.cloneNode(true);
  for (const [name, property] of [["href", "a"], ["src", "img"]]) {
    const own = [...(this.matches(property) ? [this] : []), ...this.querySelectorAll(property)];
    const copied = [...(copy.matches(property) ? [copy] : []), ...copy.querySelectorAll(property)];
    copied.forEach((element, index) => { if (own[index].hasAttribute(name)) element.setAttribute(name, own[index][name]); });
  }
  return copy.outerHTML.slice(0, most);
}`;
const BOX = `function () {
  this.scrollIntoView({ block: "nearest" });
  const { left, top, width, height } = this.getBoundingClientRect();
  return [left + scrollX, top + scrollY, width, height];
}`;

async function boxOf(read: () => Promise<unknown>) {
  const box = await read();
  const [x = 0, y = 0, width = 0, height = 0] = Array.isArray(box) ? box.map(Number) : [];
  if (width > 0 && height > 0) return { x, y, width, height };
  throw new ToolyardError("execution_error", "the element is not seen on the page");
}

async function evaluate({ tab }: Step, expression: string): Promise<unknown> {
  const run = (code: string) =>
    tab.protocol.send("Runtime.evaluate", {
      expression: code,
      awaitPromise: true,
      returnByValue: true,
      userGesture: true,
    });
  let answer = await run(expression);
  // A plain script knows no await of its own.
  if (/await is only valid/.test(answer.exceptionDetails?.exception?.description ?? "")) {
    answer = await run(`(async () => (${expression}\n))()`);
  }
  const { result, exceptionDetails } = answer;
  if (exceptionDetails !== undefined) throw toPageError(exceptionDetails);
  if (result.unserializableValue === undefined) return result.value;
  return UNSERIALIZABLE.get(result.unserializableValue) ?? result.description;
}

// JSON cannot hold these; the server tells the caller of each.
const UNSERIALIZABLE: ReadonlyMap<string, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
  ["-0", -0],
]);

/** Chromium gives back no value with a symbol, a bigint or itself in it, nor a window. */
function toValueError(error: unknown): unknown {
  const reason = error instanceof Error ? /by value|reference chain is too long/.exec(error.message)?.[0] : undefined;
  if (reason === undefined) return error;
  return new ToolyardError("execution_error", "the expression's value cannot be told as JSON", {
    suggestion: "End the expression with text, numbers, or lists and plain objects of them.",
    cause: error,
  });
}

/** Chromium makes no picture of what is too large for it, and says nothing better than that it failed. */
function toPictureError(error: unknown): unknown {
  if (!(error instanceof Error) || !error.message.includes("Page.captureScreenshot")) return error;
  return new ToolyardError("business_failure", "the browser could not take this picture; it may be too large", {
    suggestion: "Leave full_page out, name an element, or scroll and take several.",
    cause: error,
  });
}
