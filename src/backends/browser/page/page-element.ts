import type { CDPSession, Page, Protocol } from "puppeteer-core";
import { ToolyardError } from "../../../core/errors.ts";

/** A place on the page, in CSS pixels of what is seen. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

const SETTLE_TRIES = 60;
/** About a frame. */
const SETTLE_MS = 16;

/** One element of a page. */
export class PageElement {
  readonly node: number;
  readonly #protocol: CDPSession;

  constructor(node: number, protocol: CDPSession) {
    this.node = node;
    this.#protocol = protocol;
  }

  /**
   * The middle of where it is seen, once it has been brought into view and keeps still.
   *
   * @throws ToolyardError `execution_error` for what is not seen, `unknown_name` for what is gone
   */
  async point(signal: AbortSignal): Promise<Point> {
    await this.#send("DOM.scrollIntoViewIfNeeded", {});
    let before: Point | undefined;
    for (let attempt = 0; attempt < SETTLE_TRIES; attempt++) {
      // oxlint-disable-next-line no-await-in-loop -- until it keeps still
      const { quads } = await this.#send("DOM.getContentQuads", {});
      const now = middleOf(quads[0] ?? []);
      if (before !== undefined && now !== undefined && before.x === now.x && before.y === now.y) return now;
      before = now;
      // oxlint-disable-next-line no-await-in-loop
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
      signal.throwIfAborted();
    }
    if (before !== undefined) return before;
    throw new ToolyardError("execution_error", "the element is not seen on the page", {
      suggestion: "Open what hides it, or work with it by browser:evaluate.",
    });
  }

  async focus(): Promise<void> {
    await this.#send("DOM.focus", {});
  }

  /**
   * Runs a function on it in the page, its body as text: what it returns must be JSON.
   *
   * @throws ToolyardError `execution_error` with what it threw
   */
  async call(body: string, ...values: readonly unknown[]): Promise<unknown> {
    const { object } = await this.#send("DOM.resolveNode", {});
    const { result, exceptionDetails } = await this.#protocol.send("Runtime.callFunctionOn", {
      functionDeclaration: body,
      objectId: object.objectId ?? "",
      arguments: values.map((value) => ({ value })),
      returnByValue: true,
      awaitPromise: true,
      userGesture: true,
    });
    if (exceptionDetails !== undefined) throw toPageError(exceptionDetails);
    return result.value;
  }

  /** Gives files of the sandbox to a file input. */
  async chooseFiles(files: readonly string[]): Promise<void> {
    await this.#send("DOM.setFileInputFiles", { files: [...files] });
  }

  async #send<
    M extends
      | "DOM.scrollIntoViewIfNeeded"
      | "DOM.getContentQuads"
      | "DOM.focus"
      | "DOM.resolveNode"
      | "DOM.setFileInputFiles",
  >(method: M, params: object): Promise<ReturnTypeOf<M>> {
    try {
      // Each of these methods takes the node beside its own params.
      return (await this.#protocol.send(method, { backendNodeId: this.node, ...params } as never)) as ReturnTypeOf<M>;
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      if (/No node|Could not find node|not belong to the document|detached/i.test(said)) {
        throw new ToolyardError("unknown_name", "the element is gone from the page", {
          suggestion: "Take a new browser:snapshot.",
        });
      }
      const what = /layout object|not visible/i.test(said) ? "the element is not seen on the page" : said;
      throw new ToolyardError("execution_error", what.slice(0, 400), { cause: error });
    }
  }
}

type ReturnTypeOf<M extends string> = M extends "DOM.getContentQuads"
  ? Protocol.DOM.GetContentQuadsResponse
  : M extends "DOM.resolveNode"
    ? Protocol.DOM.ResolveNodeResponse
    : void;

/** What code in the page threw, as its author would read it. */
export function toPageError({ exception, text }: Protocol.Runtime.ExceptionDetails): ToolyardError {
  const said = exception?.description ?? (exception?.value === undefined ? text : String(exception.value));
  return new ToolyardError("execution_error", said.slice(0, 2_000));
}

/** An element by a CSS selector (or puppeteer's own: `::-p-text(…)`, `::-p-aria(…)`), if it is there. */
export async function findElement(
  page: Page,
  protocol: CDPSession,
  selector: string,
): Promise<PageElement | undefined> {
  try {
    const handle = await page.$(selector);
    if (handle === null) return undefined;
    const node = await handle.backendNodeId();
    await handle.dispose();
    return new PageElement(node, protocol);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    if (!/not a valid selector|SyntaxError|Unknown/i.test(said)) throw error;
    throw new ToolyardError("invalid_input", `${JSON.stringify(selector)} is no selector`, { cause: error });
  }
}

function middleOf(quad: readonly number[]): Point | undefined {
  if (quad.length < 8) return undefined;
  const mean = (offset: number) => [0, 2, 4, 6].reduce((sum, at) => sum + (quad[at + offset] ?? 0), 0) / 4;
  const [width, height] = [0, 1].map((offset) => {
    const values = [0, 2, 4, 6].map((at) => quad[at + offset] ?? 0);
    return Math.max(...values) - Math.min(...values);
  });
  if ((width ?? 0) < 1 || (height ?? 0) < 1) return undefined;
  return { x: mean(0), y: mean(1) };
}
