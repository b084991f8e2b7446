import type { AnyBackend, BackendSetup } from "../core/backend.ts";
import type { BackendSource } from "./backend-source.ts";
import { BUILT_IN } from "./built-in.ts";
import { importModule } from "./import-module.ts";

/** The class of a backend, as the composition root constructs it. */
export type BackendClass = new (setup: BackendSetup) => AnyBackend;

/**
 * Loads a backend's class.
 *
 * @throws TypeError when the module has no such class; ToolyardError dependency_failed; whatever the module throws
 */
export async function loadBackendClass(source: BackendSource): Promise<BackendClass> {
  if (source.kind === "built-in") return asBackendClass(await BUILT_IN[source.name]?.load(), "default", source.name);
  return asBackendClass(await importModule(source.url), source.exportName, source.url);
}

function asBackendClass(module: unknown, exportName: string, where: string): BackendClass {
  const found = exportOf(module, exportName);
  if (isBackendClass(found)) return found;
  const names = exportsOf(module).filter((name) => isBackendClass(exportOf(module, name)));
  const advice = names.length === 0 ? "" : `; its exports that are: ${names.map((name) => `#${name}`).join(", ")}`;
  throw new TypeError(`the ${exportName} export of ${where} is not a class that extends Backend${advice}`);
}

/** Reads an export; one of a CommonJS module may sit inside its default export. */
function exportOf(module: unknown, name: string): unknown {
  const direct = read(module, name);
  if (typeof direct === "function") return direct;
  return read(read(module, "default"), name);
}

function exportsOf(module: unknown): readonly string[] {
  const inside = read(module, "default");
  const keys = (value: unknown): string[] => (typeof value === "object" && value !== null ? Object.keys(value) : []);
  return [...new Set([...keys(module), ...keys(inside)])];
}

function read(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && key in value ? Reflect.get(value, key) : undefined;
}

/** Judges by shape, not by `instanceof`: a plugin may bring its own copy of the package. */
function isBackendClass(value: unknown): value is BackendClass {
  if (typeof value !== "function") return false;
  const prototype: unknown = value.prototype;
  return typeof prototype === "object" && prototype !== null && "tools" in prototype;
}
