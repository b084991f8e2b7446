import type { CDPSession, Protocol } from "puppeteer-core";
import type { PageRefs } from "./page-refs.ts";

/** A page as a screen reader has it. */
export interface PageSnapshot {
  /** A line an element, indented by depth: `- button "Save" [ref=e3] [disabled]`. */
  readonly text: string;
  /** How many elements are in it. */
  readonly elements: number;
  /** There are more of them. */
  readonly truncated: boolean;
}

export interface SnapshotBounds {
  readonly maxElements: number;
  readonly maxDepth: number;
}

const MAX_NAME = 300;
/** Roles that say nothing by themselves: what is in them stands in their place. */
const SILENT: ReadonlySet<string> = new Set([
  ...["none", "generic", "presentation", "InlineTextBox", "LineBreak", "RootWebArea", "LayoutTable", "LayoutTableRow"],
  ...["LayoutTableCell", "IframePresentational", "ignored"],
]);
const TOLD: ReadonlySet<string> = new Set([
  ...[
    "checked",
    "disabled",
    "expanded",
    "focused",
    "level",
    "modal",
    "pressed",
    "readonly",
    "required",
    "selected",
    "invalid",
  ],
]);

/** Takes what accessibility tools are told of a page, frames included, with refs for `browser:click` and the others. */
export async function takeSnapshot(
  protocol: CDPSession,
  refs: PageRefs,
  bounds: SnapshotBounds,
): Promise<PageSnapshot> {
  const { frameTree } = await protocol.send("Page.getFrameTree");
  const writer = new SnapshotWriter(refs, bounds);
  for (const { frame, depth } of framesOf(frameTree)) {
    // oxlint-disable-next-line no-await-in-loop -- in the page's order
    const { nodes } = await protocol.send("Accessibility.getFullAXTree", { frameId: frame.id });
    if (depth > 0 && nodes.length > 0) writer.line(depth - 1, `- frame "${cut(frame.url)}"`);
    writer.tree(nodes, depth);
    if (writer.full) break;
  }
  return writer.finish();
}

class SnapshotWriter {
  readonly #refs: PageRefs;
  readonly #bounds: SnapshotBounds;
  readonly #lines: string[] = [];
  #elements = 0;
  #truncated = false;

  constructor(refs: PageRefs, bounds: SnapshotBounds) {
    this.#refs = refs;
    this.#bounds = bounds;
  }

  get full(): boolean {
    return this.#elements >= this.#bounds.maxElements;
  }

  line(depth: number, text: string): void {
    this.#lines.push("  ".repeat(depth) + text);
  }

  tree(nodes: readonly Protocol.Accessibility.AXNode[], depth: number): void {
    const byId = new Map(nodes.map((node) => [node.nodeId, node]));
    const [root] = nodes;
    if (root === undefined) return;
    // Without recursion: pages may nest deeper than the stack is.
    const open: { readonly node: Protocol.Accessibility.AXNode; readonly depth: number; readonly above: string }[] = [
      { node: root, depth, above: "" },
    ];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const { node, above } = at;
      const role = String(node.role?.value ?? "");
      const name = cut(String(node.name?.value ?? ""));
      const silent = node.ignored || SILENT.has(role) || (role === "StaticText" && (name === "" || name === above));
      if (!silent) {
        if (this.full || at.depth > this.#bounds.maxDepth) {
          this.#truncated = true;
          if (this.full) return;
          continue;
        }
        this.#elements += 1;
        this.line(at.depth, this.#describe(node, role, name));
      }
      const next = { depth: silent ? at.depth : at.depth + 1, above: silent ? above : name };
      for (const id of [...(node.childIds ?? [])].toReversed()) {
        const child = byId.get(id);
        if (child !== undefined) open.push({ node: child, ...next });
      }
    }
  }

  finish(): PageSnapshot {
    return { text: this.#lines.join("\n"), elements: this.#elements, truncated: this.#truncated };
  }

  #describe(node: Protocol.Accessibility.AXNode, role: string, name: string): string {
    if (role === "StaticText") return `- text ${JSON.stringify(name)}`;
    const parts = [`- ${role}`];
    if (name !== "") parts.push(JSON.stringify(name));
    const value = node.value?.value;
    if (value !== undefined && value !== "") parts.push(`value=${JSON.stringify(cut(String(value)))}`);
    if (node.backendDOMNodeId !== undefined) parts.push(`[ref=${this.#refs.name(node.backendDOMNodeId)}]`);
    for (const { name: property, value: set } of node.properties ?? []) {
      if (!TOLD.has(property) || set.value === false || set.value === "false") continue;
      parts.push(set.value === true ? `[${property}]` : `[${property}=${String(set.value)}]`);
    }
    return parts.join(" ");
  }
}

function* framesOf(
  tree: Protocol.Page.FrameTree,
  depth = 0,
): Generator<{ readonly frame: Protocol.Page.Frame; readonly depth: number }> {
  yield { frame: tree.frame, depth };
  for (const child of tree.childFrames ?? []) yield* framesOf(child, depth + 1);
}

function cut(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_NAME ? `${line.slice(0, MAX_NAME)}…` : line;
}
