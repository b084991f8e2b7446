import { createHash } from "node:crypto";

/** Hashes JSON values so that equal ones, whatever the order of their keys, have one fingerprint. */
export function fingerprint(...values: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(values, sortKeys)).digest("base64url");
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1)));
}
