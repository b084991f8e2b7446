import { z } from "zod";
import type { ToolContext } from "../../../core/context.ts";
import { ToolyardError } from "../../../core/errors.ts";

const Rendered = z.object({ url: z.string(), html: z.string(), status: z.int().nullish() });

/** A page as a browser showed it. */
export interface RenderedPage {
  readonly url: string;
  readonly html: string;
  /** What it was answered with; 200 where the browser does not say. */
  readonly status: number;
}

/**
 * Has a browser show a page, by a tool of the same worker: its session is the worker's own, and its rules on addresses apply.
 *
 * @throws ToolyardError `dependency_failed` that names the tool when there is none; the browser's own failure.
 */
export async function renderPage(url: URL, action: string, context: ToolContext): Promise<RenderedPage> {
  const result = await context.call(action, { url: url.href }, { signal: context.signal });
  if (!result.ok) {
    const { error, message, details, retryable, outcome } = result.error;
    if (error === "tool_not_found" || error === "unknown_name") {
      throw new ToolyardError("dependency_failed", `there is no browser: no backend has the tool ${action}`, {
        retryable: false,
        details: { missing: action },
        suggestion: "Mount a browser backend, or leave browser out: most pages need none.",
      });
    }
    throw new ToolyardError(error, `${action}: ${message}`, { retryable, outcome, ...(details && { details }) });
  }
  const { data, success } = Rendered.safeParse(result.data);
  if (success) return { ...data, status: data.status ?? 200 };
  throw new ToolyardError("dependency_failed", `${action} gave no page`, {
    retryable: false,
    details: { missing: action },
  });
}
