import { randomFillSync } from "node:crypto";

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
  return `${name}_${randomHex()}`;
}

const ID_BYTES = 16;
const pool = Buffer.alloc(ID_BYTES * 256);
let used = pool.length;

/** Draws from a pool: asking the system for 16 bytes at a time costs more than the rest of a session. */
function randomHex(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return pool.toString("hex", used - ID_BYTES, used);
}

/** What needs no change, as most do not. */
const SLUG = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,30}[A-Za-z0-9])?$/;

function slug(text: string, edges: RegExp): string {
  if (SLUG.test(text)) return text;
  return text
    .replace(/[^A-Za-z0-9_-]/g, "-")
    .replace(edges, "")
    .slice(0, MAX_PART);
}
