import { checkConfig } from "../config/check.ts";
import { ConfigError } from "../config/config-error.ts";
import { type Provenance, provenanceOf } from "../config/provenance.ts";
import type { Config, ResourceConfig } from "../config/schema.ts";
import type { AnyBackend } from "../core/backend.ts";
import type { Logger } from "../core/context.ts";
import { ToolyardError } from "../core/errors.ts";
import type { RuntimeSelector } from "../core/runtime.ts";
import { BACKEND_PORTS } from "./backend-ports.ts";
import { type BackendClass, loadBackendClass } from "./backend-class.ts";
import { type BackendSource, resolveBackendSource } from "./backend-source.ts";
import { BUILT_IN } from "./built-in.ts";
import { ThreadedBackend } from "./thread/threaded-backend.ts";

/** A backend under the name that the config gives it. */
export interface MountedBackend {
  readonly resource: string;
  readonly backend: AnyBackend;
  /** What the config says of it. */
  readonly entry: ResourceConfig;
}

/** What backends are made with. */
export interface LoadBackendsOptions {
  /** The folder of the config: module paths start here. */
  readonly configDir: string;
  readonly runtimes?: RuntimeSelector;
  /** Where backends may keep what must outlive the server; absent when nothing is to. */
  readonly dataDir?: string;
  readonly logger: Logger;
}

/**
 * Loads and constructs every enabled backend of a config, under the names of their entries.
 *
 * @throws ConfigError that names the file and the key of the first entry that is wrong
 */
export async function loadBackends(config: Config, options: LoadBackendsOptions): Promise<readonly MountedBackend[]> {
  const provenance = provenanceOf(config);
  const enabled = Object.entries(config.resources).filter(([, entry]) => entry.enabled);
  return Promise.all(
    enabled.map(async ([resource, entry]) => ({
      resource,
      entry,
      backend: await loadBackend(resource, entry, { ...options, provenance, apis: config.apis }),
    })),
  );
}

interface Loading extends LoadBackendsOptions {
  readonly provenance: Provenance;
  readonly apis: Config["apis"];
}

async function loadBackend(resource: string, entry: ResourceConfig, loading: Loading): Promise<AnyBackend> {
  const { file } = loading.provenance;
  const place = { file, key: `resources.${resource}` };
  const source = resolveBackendSource(entry.backend ?? resource, {
    file,
    key: `${place.key}.backend`,
    configDir: loading.configDir,
  });
  const builtIn = source.kind === "built-in" ? BUILT_IN[source.name] : undefined;
  if (entry.thread === true && builtIn?.needsRuntimes === true) {
    throw new ConfigError(
      { ...place, key: `${place.key}.thread` },
      `the ${entry.backend ?? resource} backend cannot run in a thread`,
    );
  }
  let backendClass: BackendClass;
  try {
    backendClass = await loadBackendClass(source);
  } catch (error) {
    throw new ConfigError({ ...place, key: `${place.key}.backend` }, explain(error), error);
  }
  const backend = construct(backendClass, checkedConfig(backendClass, resource, entry, loading), place, loading);
  return (entry.thread ?? builtIn?.thread === true) ? toThread(backend, source, resource, loading) : backend;
}

function checkedConfig(
  backendClass: BackendClass,
  resource: string,
  entry: ResourceConfig,
  loading: Loading,
): Readonly<Record<string, unknown>> {
  const { provenance } = loading;
  const configSchema = readSchema(backendClass, resource, entry, loading);
  if (configSchema === undefined) return entry.config;
  const checked = checkConfig(configSchema, entry.config, { ...provenance, path: ["resources", resource, "config"] });
  if (typeof checked === "object" && checked !== null) return { ...checked };
  throw new ConfigError(
    { file: provenance.file, key: `resources.${resource}` },
    "its configSchema does not give an object",
  );
}

/** Constructs once to read the schema, for which constructors must do no work; one may refuse a config that is wrong. */
function readSchema(
  backendClass: BackendClass,
  resource: string,
  { config }: ResourceConfig,
  loading: Loading,
): AnyBackend["configSchema"] {
  const place = { file: loading.provenance.file, key: `resources.${resource}` };
  try {
    return construct(backendClass, config, place, loading).configSchema;
  } catch (refusal) {
    try {
      const { configSchema } = construct(backendClass, {}, place, loading);
      if (configSchema !== undefined) return configSchema;
    } catch {
      // It refuses the empty config as well: the first refusal says more.
    }
    throw refusal;
  }
}

function construct(
  backendClass: BackendClass,
  config: Readonly<Record<string, unknown>>,
  place: { readonly file: string; readonly key: string },
  { runtimes, dataDir, apis }: Loading,
): AnyBackend {
  try {
    return new backendClass({
      config,
      ...BACKEND_PORTS,
      apis,
      ...(runtimes !== undefined && { runtimes }),
      ...(dataDir !== undefined && { dataDir }),
    });
  } catch (error) {
    throw new ConfigError(place, `the backend cannot be constructed: ${explain(error)}`, error);
  }
}

function toThread(backend: AnyBackend, source: BackendSource, resource: string, loading: Loading): AnyBackend {
  const { logger, dataDir, apis } = loading;
  return new ThreadedBackend(backend, {
    source,
    resource,
    apis,
    logger: logger.child({ resource }),
    ...(dataDir !== undefined && { dataDir }),
  });
}

function explain(error: unknown): string {
  if (ToolyardError.is(error)) return `${error.message}. ${error.suggestion}`;
  return error instanceof Error ? error.message : String(error);
}
