import { randomBytes } from "node:crypto";

const MAX_PART = 32;

/** Names a session as the wire does: `{resource}_{worker}_{NNN}[_{custom}]`. */
export function toSessionName(resource: string, workerId: string, count: number, customName?: string): string {
  const worker = slug(workerId, /^-+|-+$/g) || "worker";
  const custom = customName === undefined ? "" : slug(customName, /^[-_]+|[-_]+$/g);
  const name = `${resource}_${worker}_${String(count).padStart(3, "0")}`;
  return custom === "" ? name : `${name}_${custom}`;
}

/** Adds 128 random bits to the name, so that an id can be neither guessed nor met twice. */
export function toSessionId(name: string): string {
  return `${name}_${randomBytes(16).toString("hex")}`;
}

function slug(text: string, edges: RegExp): string {
  return text
    .replace(/[^A-Za-z0-9_-]/g, "-")
    .replace(edges, "")
    .slice(0, MAX_PART);
}
