import { posix } from "node:path";
import { ToolyardError } from "../../core/errors.ts";
import type { FileInfo, SandboxFiles } from "../../core/sandbox-files.ts";

const MAX_LINKS = 16;

/**
 * Finds what a path leads to, through symbolic links.
 *
 * @throws ToolyardError `path_not_found`, `path_refused` for links that go round.
 */
export async function resolveFile(files: SandboxFiles, path: string, signal: AbortSignal): Promise<FileInfo> {
  let at = path;
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    // Each link says where the next one is.
    // oxlint-disable-next-line no-await-in-loop
    const info = await files.stat(at, signal);
    if (info === null) throw new ToolyardError("path_not_found", `there is nothing at ${path}`, { details: { path } });
    if (info.kind !== "symlink" || info.target === undefined) return info;
    at = posix.resolve("/", posix.dirname(info.path), info.target);
  }
  throw new ToolyardError("path_refused", `${path} is a link that leads to too many links`, { details: { path } });
}
