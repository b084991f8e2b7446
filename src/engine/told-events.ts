import { describeError, ToolyardError } from "../core/errors.ts";
import { type EventType, TOLD_BY_TOOLS } from "../core/events.ts";
import { type PlainJson, toPlainJson } from "./plain-json.ts";

type Facts = Readonly<Record<string, unknown>>;

/** The largest report of a plugin's that becomes an event. */
const BOUNDS = { maxBytes: 65_536, maxDepth: 20 };

/**
 * Lets only those types through that plugins may tell: the others are the engine's word.
 *
 * @throws ToolyardError invalid_input
 */
export function checkTold(type: EventType): void {
  if (TOLD_BY_TOOLS.some((told) => told === type)) return;
  throw new ToolyardError("invalid_input", `Plugins tell no events ${type}`, { details: { types: TOLD_BY_TOOLS } });
}

/** Copies what a plugin tells, which it may change afterwards and which may not be JSON at all. */
export function toBounded(data: Facts): Facts {
  let plain: PlainJson;
  try {
    plain = toPlainJson(data, BOUNDS);
  } catch (error) {
    return { left_out: describeError(error) };
  }
  // A record stays a record, but for one with a toJSON of its own.
  return typeof plain.value === "object" && plain.value !== null && !Array.isArray(plain.value)
    ? (plain.value as Facts)
    : { value: plain.value };
}
