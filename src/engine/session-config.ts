import type { AnyBackend } from "../core/backend.ts";
import { ToolyardError } from "../core/errors.ts";
import { toIssues } from "../core/issues.ts";
import { fingerprint } from "./fingerprint.ts";
import type { SessionRecord } from "./session-record.ts";

/**
 * Merges a caller's session config over the backend's own, one level deep. A backend with a `sessionSchema` takes from
 * either only what the schema names, and refuses a caller's other keys.
 *
 * @throws ToolyardError invalid_input
 */
export function toSessionConfig(
  backend: AnyBackend,
  requested: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const own: unknown = backend.config;
  const defaults = typeof own === "object" && own !== null ? own : {};
  const schema = backend.sessionSchema;
  if (schema === undefined) return { ...defaults, ...requested };
  const named = Object.fromEntries(Object.entries(defaults).filter(([key]) => key in schema.shape));
  const parsed = schema.safeParse({ ...named, ...requested });
  if (parsed.success) return parsed.data;
  const issues = toIssues(parsed.error);
  const lines = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  throw new ToolyardError("invalid_input", `session_config: ${lines.join("; ")}`, { details: { issues } });
}

/** Whether a session has the config that a request asks for; one that asks for none takes any. */
export function isConfiguredAs(
  { mount, config }: Pick<SessionRecord, "mount" | "config">,
  requested: Readonly<Record<string, unknown>>,
): boolean {
  if (Object.keys(requested).length === 0) return true;
  try {
    const wanted = mount === undefined ? requested : toSessionConfig(mount.backend, requested);
    return fingerprint(wanted) === fingerprint(config);
  } catch (error) {
    if (ToolyardError.is(error)) return false;
    throw error;
  }
}
