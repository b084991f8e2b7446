import { ToolyardError } from "../core/errors.ts";

/** Whether this code itself runs from TypeScript sources, under something that can import them. */
const FROM_SOURCES = import.meta.url.endsWith(".ts");

/** Imports a module; replaced in tests. */
export type Importer = (specifier: string) => Promise<unknown>;

const importer: Importer = (specifier) => import(specifier);

let registered: Promise<void> | undefined;

/**
 * Imports a plugin's module by URL, TypeScript ones through tsx.
 *
 * Node's own type stripping cannot run decorators, and every backend has some.
 *
 * @throws ToolyardError dependency_failed when the module is TypeScript and tsx is not installed
 */
export async function importModule(url: string, load: Importer = importer): Promise<unknown> {
  if (/\.[cm]?ts$/.test(url) && (!FROM_SOURCES || load !== importer)) {
    registered ??= registerTypeScript(url, load).catch((error: unknown) => {
      registered = undefined;
      throw error;
    });
    await registered;
  }
  return load(url);
}

async function registerTypeScript(url: string, load: Importer): Promise<void> {
  let api: unknown;
  try {
    api = await load("tsx/esm/api");
  } catch (error) {
    throw new ToolyardError("dependency_failed", `${url} is TypeScript, and running it needs the package "tsx"`, {
      suggestion: "Install it with `npm install --save-dev tsx`, or compile the backend to JavaScript.",
      cause: error,
    });
  }
  if (typeof api === "object" && api !== null && "register" in api && typeof api.register === "function") {
    api.register();
  }
}
