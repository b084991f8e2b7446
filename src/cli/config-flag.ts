import { fileURLToPath } from "node:url";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import type { Terminal } from "./command.ts";

/** The package's own config, which lies beside src and dist alike. */
const DEFAULT_CONFIG = new URL("../../configs/default.json", import.meta.url);

/**
 * Loads the config that `--config` names, or the package's own.
 *
 * @throws ConfigError
 */
export function loadNamedConfig(path: string | undefined, { environment }: Terminal): Promise<LoadedConfig> {
  return loadConfig(path ?? fileURLToPath(DEFAULT_CONFIG), environment);
}
