import { existsSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigError } from "../config/config-error.ts";
import { didYouMean } from "../config/near-name.ts";
import { BUILT_IN } from "./built-in.ts";

/** Where a backend's class is to be had; plain data, since worker threads are handed it too. */
export type BackendSource =
  | { readonly kind: "built-in"; readonly name: string }
  | { readonly kind: "module"; readonly url: string; readonly exportName: string };

/** What names a backend in a config. */
export interface SourceRequest {
  readonly file: string;
  readonly key: string;
  /** The folder of the config: relative paths start here. */
  readonly configDir: string;
}

const MODULE = /\.[cm]?[jt]s$/;

/**
 * Finds what a config's `backend` names: a built-in, or a module inside the config's own package or folder.
 *
 * @throws ConfigError when there is no such backend, or when the path leads out of the package
 */
export function resolveBackendSource(backend: string, { file, key, configDir }: SourceRequest): BackendSource {
  const fail = (problem: string): never => {
    throw new ConfigError({ file, key }, problem);
  };
  const [path = "", exportName = "default"] = backend.split("#", 2);
  if (!MODULE.test(path)) {
    if (Object.hasOwn(BUILT_IN, backend)) return { kind: "built-in", name: backend };
    const known = Object.keys(BUILT_IN);
    const advice = didYouMean(backend, known) || `; built in: ${known.join(", ")}; or give the path of a module`;
    return fail(`there is no backend "${backend}"${advice}`);
  }
  const absolute = resolve(configDir, path);
  if (!existsSync(absolute)) return fail(`there is no file ${absolute}`);
  const root = packageRoot(realpathSync(configDir));
  const real = realpathSync(absolute);
  const inside = relative(root, real);
  if (inside.startsWith("..") || isAbsolute(inside)) {
    return fail(`${absolute} lies outside ${root}: a config may load modules only from its own package or folder`);
  }
  return { kind: "module", url: pathToFileURL(real).href, exportName };
}

/** The nearest folder upwards with a package.json, or the folder itself. */
function packageRoot(start: string): string {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (folder === dirname(folder)) return start;
  }
}
