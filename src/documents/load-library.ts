import { ToolyardError } from "../core/errors.ts";

/** Loads a library that one format needs. @throws ToolyardError `dependency_failed` that names the package */
export async function loadLibrary<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new ToolyardError("dependency_failed", `The package ${name} cannot be loaded`, {
      suggestion: `Install it with \`npm install ${name}\`.`,
      cause: error,
    });
  }
}

/** Reads with a library, whose complaints about the content are the sender's matter. @throws ToolyardError `invalid_input` */
export async function readWith<T>(what: string, read: () => Promise<T> | T): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (ToolyardError.is(error)) throw error;
    throw new ToolyardError("invalid_input", `the document is not a ${what} that can be read`, { cause: error });
  }
}
