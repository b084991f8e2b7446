import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { checkConfig } from "./check.ts";
import { ConfigError } from "./config-error.ts";
import { type Environment, expandPlaceholders } from "./expand.ts";
import { parseJsonWithComments } from "./json-with-comments.ts";
import { recordProvenance } from "./provenance.ts";
import { type Config, configSchema } from "./schema.ts";

/** A config and where it lies. */
export interface LoadedConfig {
  readonly config: Config;
  /** The folder of the file: module paths in it start here. */
  readonly dir: string;
  /** The absolute path of the file. */
  readonly path: string;
}

/**
 * Reads, expands and checks a config file.
 *
 * @throws ConfigError that names the file, and the key or the line and column
 */
export async function loadConfig(path: string, environment: Environment): Promise<LoadedConfig> {
  let source: string;
  try {
    source = await readFile(path, "utf8");
  } catch (error) {
    throw new ConfigError({ file: path }, `it cannot be read (${reasonOf(error)})`, error);
  }
  const absolute = resolve(path);
  return { config: parseConfig(source, { file: path, environment }), dir: dirname(absolute), path: absolute };
}

/** What {@link parseConfig} needs beside the text. */
export interface ParseOptions {
  /** What errors call the text. */
  readonly file: string;
  readonly environment: Environment;
}

/**
 * Turns the text of a config into a checked one.
 *
 * @throws ConfigError
 */
export function parseConfig(source: string, { file, environment }: ParseOptions): Config {
  const { value, placeholders } = expandPlaceholders(parseJsonWithComments(source, file), environment, file);
  const config = checkConfig(configSchema, dropUnderscored(value), { file, placeholders });
  recordProvenance(config, { file, placeholders });
  return config;
}

/** Takes out what a leading `_` hides: top-level notes, and entries of `resources` and `apis`. */
function dropUnderscored(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const visible = withoutUnderscored(value);
  for (const section of ["resources", "apis"]) {
    const entries = visible[section];
    if (isRecord(entries)) visible[section] = withoutUnderscored(entries);
  }
  return visible;
}

function withoutUnderscored(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !key.startsWith("_")));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") return "no such file";
  if (code === "EISDIR") return "it is a folder";
  if (code === "EACCES") return "permission denied";
  return typeof code === "string" ? code : "unreadable";
}
