import { isJsonObject } from "../envelope.ts";

/** Reads one field of a result of which only the tool's name is known. */
export function field(data: unknown, name: string): unknown {
  return isJsonObject(data) ? data[name] : undefined;
}

/** Reads a field that should be text; anything else is as good as absent. */
export function textField(data: unknown, name: string): string {
  const value = field(data, name);
  return typeof value === "string" ? value : "";
}

/** Reads a field that should be a list; anything else is an empty one. */
export function listField(data: unknown, name: string): readonly unknown[] {
  const value = field(data, name);
  return Array.isArray(value) ? value : [];
}

/** Writes any value for a reader: text as it is, anything else as indented JSON. */
export function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  try {
    return JSON.stringify(value, null, 2) ?? String(value);
  } catch {
    // A cycle or a bigint, which only a value that never crossed the wire can hold.
    return String(value);
  }
}

/** Joins the parts that say something. */
export function lines(...parts: readonly (string | undefined | false)[]): string {
  return parts.filter((part) => part !== undefined && part !== false && part !== "").join("\n");
}
