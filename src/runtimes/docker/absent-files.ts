import { ToolyardError } from "../../core/errors.ts";
import type { SandboxFiles } from "../../core/sandbox-files.ts";

/**
 * The files of a sandbox in which nobody can touch them for us: every method says what its image lacks. Present all the same,
 * so that callers are told of the image and not of the runtime.
 */
export function absentFiles(image: string): SandboxFiles {
  const refusal = () =>
    new ToolyardError("runtime_unavailable", `the image ${image} has no python3, which file tools need`, {
      suggestion: "Use commands to read and write files, or choose an image that has it, toolyard/code say.",
    });
  const refuse = () => Promise.reject(refusal());
  const refuseStream = <T>(): AsyncIterable<T> => ({
    [Symbol.asyncIterator]: () => ({ next: refuse }),
  });
  return {
    stat: refuse,
    read: refuse,
    write: refuse,
    list: refuse,
    glob: refuse,
    grep: refuse,
    makeDirectory: refuse,
    move: refuse,
    copy: refuse,
    remove: refuse,
    watch: refuseStream,
    archive: refuseStream,
    extract: refuse,
  };
}
