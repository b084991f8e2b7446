import type { ToolContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import { type Input, tool } from "../../core/tool.ts";
import type { WebConfig } from "./config.ts";
import type { PageFetcher } from "./http/fetch-page.ts";
import type { Robots } from "./http/robots.ts";
import { decodeText } from "./page/decode-text.ts";
import { FetchParams } from "./schemas.ts";

/** These say how the connection is used, or whom it is for: they are ours to set. */
const OURS = new Set(
  "host connection content-length transfer-encoding accept-encoding te trailer upgrade expect keep-alive via".split(
    " ",
  ),
);
const TEXT = /^(?:text\/|application\/(?:.*\+)?(?:json|xml|javascript|x-ndjson|yaml|toml|x-www-form-urlencoded))/;

/** Asks one URL, and gives what it answers as it is. */
export class FetchTools {
  readonly #fetcher: PageFetcher;
  readonly #robots: Robots;
  readonly #config: WebConfig;

  constructor(fetcher: PageFetcher, robots: Robots, config: WebConfig) {
    this.#fetcher = fetcher;
    this.#robots = robots;
    this.#config = config;
  }

  @tool({
    description:
      "Send one HTTP request and get the answer as it is: status, headers, text or base64. web:visit reads pages.",
    params: FetchParams,
    annotations: { openWorldHint: true },
  })
  async fetch(
    { url, method, headers, body, as, max_bytes: maxBytes }: Input<typeof FetchParams>,
    { signal }: ToolContext,
  ) {
    const { methods } = this.#config.http;
    if (!methods.includes(method)) {
      throw new ToolyardError("invalid_input", `${method} requests are not allowed here`, {
        details: { methods },
        suggestion: "An operator may allow them with http.methods of the web backend.",
      });
    }
    if (body !== undefined && (method === "GET" || method === "HEAD")) {
      throw new ToolyardError("invalid_input", `a ${method} request has no body`);
    }
    const page = await this.#fetcher.fetch({
      url,
      method,
      headers: toHeaders(headers),
      body,
      maxBytes,
      allow: (next, limit) => this.#robots.check(next, limit),
      signal,
    });
    const { status, redirects, truncated } = page;
    return {
      url: page.url.href,
      status,
      ok: status >= 200 && status < 300,
      headers: page.headers,
      content_type: page.headers["content-type"] ?? null,
      size_bytes: page.body.length,
      truncated,
      redirects,
      ...toContent(page.body, page.headers["content-type"], as),
    };
  }
}

function toHeaders(written: Readonly<Record<string, string>>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(written)) {
    const key = name.toLowerCase();
    if (OURS.has(key) || key.startsWith("proxy-")) {
      throw new ToolyardError("invalid_input", `the header ${key} is not the caller's to set`);
    }
    headers[key] = value;
  }
  return headers;
}

function toContent(body: Buffer, contentType: string | undefined, as: "auto" | "text" | "base64") {
  const isText = as === "text" || (as === "auto" && (TEXT.test(contentType ?? "") || looksLikeText(body)));
  return isText
    ? { text: decodeText(body, contentType).toWellFormed(), base64: null }
    : { text: null, base64: body.toString("base64") };
}

function looksLikeText(body: Buffer): boolean {
  try {
    // The last character may be cut.
    return !new TextDecoder("utf-8", { fatal: true }).decode(body, { stream: true }).includes("\0");
  } catch {
    return false;
  }
}
