import { z } from "zod";
import type { ToolListing } from "../core/caller.ts";
import { isSafeName } from "../core/protocol.ts";
import { ToolyardError } from "../core/errors.ts";
import type { BoundTool } from "../core/tool.ts";
import { hasSessions, type Mount } from "./mount.ts";
import { nearNames } from "../core/near-names.ts";

/** A tool in the catalogue. */
export interface CatalogEntry {
  readonly fullName: string;
  /** The name without its prefix. */
  readonly simpleName: string;
  readonly mount: Mount;
  readonly tool: BoundTool;
  /** Whether it runs in a session of its mount's resource. */
  readonly sessions: boolean;
  /** The wire's `resource_type`; `null` for a tool without a prefix. */
  readonly resourceType: string | null;
}

const SEPARATORS = [".", "_", "-"] as const;

/** Holds every tool by name and finds the one that an action means. */
export class Catalog {
  readonly #entries = new Map<string, CatalogEntry>();
  readonly #bySimpleName = new Map<string, CatalogEntry[]>();
  readonly #prefixes = new Set<string>();
  readonly #resolved = new Map<string, CatalogEntry>();
  readonly #listings = new Map<string, ToolListing>();
  readonly mounts: ReadonlyMap<string, Mount>;

  /** @throws TypeError when two tools have one full name, or two backends one resource. */
  constructor(mounts: readonly Mount[]) {
    const byResource = new Map<string, Mount>();
    for (const mount of mounts) {
      if (byResource.has(mount.resource)) throw new TypeError(`two backends are mounted as "${mount.resource}"`);
      byResource.set(mount.resource, mount);
      for (const tool of mount.backend.tools().values()) this.#add(mount, tool);
    }
    this.mounts = byResource;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Lists the tools by full name. */
  list(options: { readonly includeHidden?: boolean } = {}): readonly ToolListing[] {
    return [...this.#entries.values()]
      .filter((entry) => options.includeHidden === true || !entry.tool.definition.hidden)
      .map((entry) => this.describe(entry))
      .toSorted((left, right) => (left.full_name < right.full_name ? -1 : 1));
  }

  /** Finds a tool of one mount by the name that its backend gives it. */
  entryOf(resource: string, toolName: string): CatalogEntry | undefined {
    const mount = this.mounts.get(resource);
    const tool = mount?.backend.tools().get(toolName);
    return mount === undefined || tool === undefined ? undefined : this.#entries.get(toFullName(mount, tool));
  }

  describe(entry: CatalogEntry): ToolListing {
    let listing = this.#listings.get(entry.fullName);
    if (listing === undefined) {
      listing = toListing(entry);
      this.#listings.set(entry.fullName, listing);
    }
    return listing;
  }

  /**
   * Finds the tool that an action means: `a:b` as it is, then `a.b`, `a_b` and `a-b` split at the first separator, then a
   * name without a prefix, then a bare name that only one tool has.
   *
   * @throws ToolyardError tool_ambiguous with `details.candidates`, tool_not_found with `details.suggestions`.
   */
  resolve(action: string): CatalogEntry {
    const known = this.#resolved.get(action);
    if (known !== undefined) return known;
    const entry = this.#find(action);
    // Only spellings that resolve are kept, so hostile names cannot grow the map past a few per tool.
    this.#resolved.set(action, entry);
    return entry;
  }

  #find(action: string): CatalogEntry {
    if (!isSafeName(action)) {
      throw new ToolyardError(
        "tool_not_found",
        "An action is a tool's name: 1 to 256 printable ASCII characters, and no reserved word",
      );
    }
    if (action.includes(":")) return this.#entries.get(action) ?? this.#notFound(action);
    for (const separator of SEPARATORS) {
      const at = action.indexOf(separator);
      if (at <= 0) continue;
      const prefix = action.slice(0, at);
      const entry = this.#prefixes.has(prefix) ? this.#entries.get(`${prefix}:${action.slice(at + 1)}`) : undefined;
      if (entry !== undefined) return entry;
    }
    const exact = this.#entries.get(action);
    if (exact !== undefined) return exact;
    const namesakes = this.#bySimpleName.get(action) ?? [];
    const listed = namesakes.filter(({ tool }) => !tool.definition.hidden);
    // A hidden tool is no rival to one that is listed.
    const candidates = listed.length > 0 ? listed : namesakes;
    const [only] = candidates;
    if (only === undefined) return this.#notFound(action);
    if (candidates.length === 1) return only;
    const names = candidates.map((candidate) => candidate.fullName).toSorted();
    throw new ToolyardError("tool_ambiguous", `Ambiguous tool name: ${action} (${names.join(", ")})`, {
      details: { action, candidates: names },
    });
  }

  #notFound(action: string): never {
    const suggestions = nearNames(action, this.#entries.keys());
    throw new ToolyardError("tool_not_found", `Tool not found: ${action}`, {
      details: { action, suggestions },
      ...(suggestions.length > 0 && { suggestion: `Did you mean ${suggestions.join(", ")}?` }),
    });
  }

  #add(mount: Mount, tool: BoundTool): void {
    const fullName = toFullName(mount, tool);
    const other = this.#entries.get(fullName);
    if (other !== undefined) {
      throw new TypeError(
        `the tool "${fullName}" is defined twice: by the backends mounted as "${other.mount.resource}" and "${mount.resource}"`,
      );
    }
    const colon = fullName.indexOf(":");
    const simpleName = fullName.slice(colon + 1);
    const sessions = hasSessions(mount.backend);
    const entry: CatalogEntry = {
      fullName,
      simpleName,
      mount,
      tool,
      sessions,
      resourceType: sessions ? mount.resource : colon < 0 ? null : fullName.slice(0, colon),
    };
    this.#entries.set(fullName, entry);
    if (colon > 0) this.#prefixes.add(fullName.slice(0, colon));
    const namesakes = this.#bySimpleName.get(simpleName);
    if (namesakes === undefined) this.#bySimpleName.set(simpleName, [entry]);
    else namesakes.push(entry);
  }
}

/** A backend mounted under another name than its own keeps all its tools under that name, so that two mounts never collide. */
function toFullName({ resource, backend }: Mount, tool: BoundTool): string {
  if (resource !== backend.resource) return `${resource}:${tool.name.replace(":", "_")}`;
  if (tool.name.includes(":")) return tool.name;
  if (tool.renamed && (tool.definition.bare === true || !hasSessions(backend))) return tool.name;
  return `${resource}:${tool.name}`;
}

function toListing(entry: CatalogEntry): ToolListing {
  const { definition } = entry.tool;
  return {
    name: entry.simpleName,
    full_name: entry.fullName,
    resource_type: entry.resourceType,
    stateless: !entry.sessions,
    description: definition.description,
    parameters: toJsonSchema(definition.params, "input"),
    result: definition.result === undefined ? null : toJsonSchema(definition.result, "output"),
    annotations: definition.annotations,
    allowed_callers: definition.allowedCallers,
    timeout_ms: definition.timeoutMs ?? null,
    hidden: definition.hidden,
  };
}

function toJsonSchema(schema: z.ZodType, io: "input" | "output"): Readonly<Record<string, unknown>> {
  // What JSON Schema cannot say (a transform, a date) is listed as "anything" in place of failing the whole listing.
  return { ...z.toJSONSchema(schema, { io, unrepresentable: "any" }) };
}
