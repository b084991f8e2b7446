import { ToolyardError } from "../../core/errors.ts";

const MAX_PATH_BYTES = 4_096;

/**
 * Reads the path that a request's query names, decoded once: `%252e` is a name with a percent sign in it.
 *
 * Where it leads is up to the sandbox, whose own user touches it from inside.
 *
 * @throws ToolyardError path_refused for what is no path: none or an empty one, NUL, over 4 KiB, wrong or overlong UTF-8, two of them.
 */
export function readPath(url: string, name = "path"): string {
  const query = url.indexOf("?");
  const pairs = query === -1 ? [] : url.slice(query + 1).split("&");
  const raw = pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
  const [text] = raw;
  if (text === undefined || text === "") throw refused(`The query names no ${name}`);
  if (raw.length > 1) throw refused(`The query names ${name} more than once`);
  const path = decode(text);
  if (path.includes("\0")) throw refused(`The ${name} has a NUL in it`);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw refused(`The ${name} is longer than ${MAX_PATH_BYTES} bytes`);
  return path;
}

/** `URLSearchParams` would put U+FFFD in the place of what is no UTF-8. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw refused("The path is not percent-encoded UTF-8");
  }
}

function refused(message: string): ToolyardError {
  return new ToolyardError("path_refused", message);
}
