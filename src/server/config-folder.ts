import { readFile, realpath } from "node:fs/promises";
import { resolve, sep } from "node:path";
import stripJsonComments from "strip-json-comments";
import { ToolyardError } from "../core/errors.ts";

const SECRET_KEY = /key|token|secret|password|credential|authorization/i;

/** The one folder whose JSON files clients may look at. */
export class ConfigFolder {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * Reads a JSON file with its secrets masked and its placeholders as they stand.
   *
   * @throws ToolyardError unknown_name for what is not a JSON file inside the folder, with one message for every reason.
   */
  async read(path: string): Promise<Readonly<Record<string, unknown>>> {
    try {
      const dir = await realpath(this.#dir);
      const file = await realpath(resolve(dir, path));
      if (!file.startsWith(dir + sep) || !file.endsWith(".json")) throw new Error("outside");
      const config: unknown = JSON.parse(stripJsonComments(await readFile(file, "utf8"), { trailingCommas: true }));
      if (typeof config !== "object" || config === null || Array.isArray(config)) throw new Error("no object");
      return Object.fromEntries(Object.entries(config).map(([key, value]) => [key, mask(key, value)]));
    } catch {
      throw new ToolyardError("unknown_name", "There is no such JSON file in the server's config folder", {
        suggestion: "Name a file by its path inside the config folder.",
      });
    }
  }
}

function mask(key: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => mask(key, item));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mask(name, item)]));
  }
  const isSecret = typeof value === "string" && SECRET_KEY.test(key) && !/^\$\{[^}]*\}$/.test(value);
  return isSecret ? "***" : value;
}
