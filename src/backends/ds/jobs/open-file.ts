import { closeSync, constants, fstatSync, openSync, realpathSync } from "node:fs";
import { relative } from "node:path";
import { ToolyardError } from "../../../core/errors.ts";
import type { DataFile } from "../data-file.ts";

/** A file that is open, under a path that goes on meaning it whatever becomes of its name. */
export interface OpenFile extends Disposable {
  readonly path: string;
}

/**
 * Opens a file that was judged, and judges again what was opened: between the two its name may have come to mean another.
 *
 * @throws ToolyardError `path_refused`
 */
export function openFile({ path, root, name }: DataFile): OpenFile {
  let handle: number;
  try {
    // Without waiting for the other end of a pipe, and without following a link that was no link before.
    handle = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    throw new ToolyardError("path_not_found", `${name} cannot be opened`);
  }
  const file = { path: process.platform === "linux" ? `/proc/self/fd/${handle}` : path };
  const close = () => closeSync(handle);
  try {
    const real = realpathSync(file.path);
    if (!fstatSync(handle).isFile() || relative(root, real).startsWith("..")) {
      throw new ToolyardError("path_refused", `${name} is not the file that it was`);
    }
  } catch (error) {
    close();
    throw error;
  }
  return { ...file, [Symbol.dispose]: close };
}
