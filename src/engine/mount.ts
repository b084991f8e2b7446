import type { AnyBackend } from "../core/backend.ts";

/** A backend under the name that the config gives it. */
export interface Mount {
  readonly resource: string;
  readonly backend: AnyBackend;
}

/** Whether calls of the backend run in a session. */
export function hasSessions(backend: AnyBackend): boolean {
  return backend.initialize !== undefined;
}
