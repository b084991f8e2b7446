import { ToolyardError } from "../../../core/errors.ts";

const MAX_LENGTH = 8_192;

/**
 * Reads a URL that may be fetched: absolute or relative to a base, http or https, without a user in it.
 *
 * Addresses come out in their one form, whichever way they were written.
 *
 * @throws ToolyardError `invalid_url`
 */
export function checkUrl(text: string, base?: URL): URL {
  const shown = text.slice(0, 200);
  if (text.length > MAX_LENGTH)
    throw new ToolyardError("invalid_url", `a URL of ${text.length} characters is too long`);
  if (!URL.canParse(text, base?.href)) throw new ToolyardError("invalid_url", `"${shown}" is no absolute URL`);
  const url = new URL(text, base);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new ToolyardError("invalid_url", `"${shown}" is neither http nor https`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new ToolyardError("invalid_url", "a URL with a user in it is refused");
  }
  url.hash = "";
  return url;
}

export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}
