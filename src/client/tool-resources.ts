import type { ToolListing } from "../core/caller.ts";

/** Knows which resource an action's session belongs to: `bash:run` may well run in the session of `code`. */
export class ToolResources {
  readonly #byName = new Map<string, string>();
  readonly #byBareName = new Map<string, string | null>();

  constructor(tools: readonly ToolListing[]) {
    for (const { full_name, name, resource_type, stateless } of tools) {
      if (resource_type === null || stateless) continue;
      this.#byName.set(full_name, resource_type);
      const colon = full_name.indexOf(":");
      if (colon < 0) continue;
      for (const separator of [".", "_", "-"]) {
        this.#byName.set(full_name.slice(0, colon) + separator + full_name.slice(colon + 1), resource_type);
      }
      // The same bare name under two prefixes is the server's to refuse.
      this.#byBareName.set(name, this.#byBareName.has(name) ? null : resource_type);
    }
  }

  /** The resource of an action in any of the forms that the server takes; `undefined` for one without sessions. */
  resourceOf(action: string): string | undefined {
    return this.#byName.get(action) ?? this.#byBareName.get(action) ?? undefined;
  }
}
