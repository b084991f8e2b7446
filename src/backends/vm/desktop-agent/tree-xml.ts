import type { View } from "../screen/view.ts";
import type { AgentNode } from "./agent-answers.ts";
import { toImageBox } from "./image-box.ts";

// OSWorld's namespaces, so that what reads its trees reads ours.
const SPACES = ["attributes", "state", "component", "value", "action"].map(
  (name) => `https://accessibility.ubuntu.example.org/ns/${name}`,
);
const [ATTRIBUTES, STATE, COMPONENT, VALUE, ACTION] = SPACES;
const ROOT =
  `<desktop-frame xmlns:attr="${ATTRIBUTES}" xmlns:st="${STATE}" xmlns:cp="${COMPONENT}" xmlns:val="${VALUE}" ` +
  `xmlns:act="${ACTION}">`;

/** Writes a tree as OSWorld has it, with the references beside, in pixels of the screenshots. */
export function toXml(nodes: readonly AgentNode[], view: View): string {
  const children = new Map<number | null, number[]>();
  for (const [index, { parent }] of nodes.entries()) {
    const siblings = children.get(parent) ?? [];
    siblings.push(index);
    children.set(parent, siblings);
  }
  const parts: string[] = [ROOT];
  // Not by recursion: how deep it is, is for others to say.
  const open: (number | string)[] = (children.get(null) ?? []).toReversed();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === "string") {
      parts.push(next);
      continue;
    }
    const node = nodes[next];
    if (node === undefined) continue;
    const tag = toTag(node.role);
    const inner = (children.get(next) ?? []).toReversed();
    const text = escape(node.text ?? "");
    if (inner.length === 0 && text === "") {
      parts.push(`<${tag}${toAttributes(node, view)}/>`);
      continue;
    }
    parts.push(`<${tag}${toAttributes(node, view)}>${text}`);
    open.push(`</${tag}>`, ...inner);
  }
  parts.push("</desktop-frame>");
  return parts.join("");
}

function toAttributes(node: AgentNode, view: View): string {
  const found: [string, string][] = [
    ["ref", node.ref],
    ["name", node.name],
  ];
  if (node.description !== "") found.push(["attr:description", node.description]);
  for (const state of node.states) found.push([`st:${toTag(state)}`, "true"]);
  if (node.box !== null) {
    const { x, y, width, height } = toImageBox(node.box, view);
    found.push(["cp:screencoord", `(${x}, ${y})`], ["cp:size", `(${width}, ${height})`]);
  }
  if (node.value !== null) found.push(["val:value", String(node.value)]);
  for (const action of new Set(node.actions.filter((name) => name !== ""))) {
    found.push([`act:${toTag(action.toLowerCase())}_desc`, action]);
  }
  const names = new Set<string>();
  return found
    .filter(([name]) => !names.has(name) && names.add(name))
    .map(([name, value]) => ` ${name}="${escape(value)}"`)
    .join("");
}

/** A role or a state as a name of XML. */
function toTag(role: string): string {
  const plain = role
    .trim()
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return /^[A-Za-z]/.test(plain) ? plain : `unknown-${plain}`.replace(/-$/, "");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\n": "&#10;",
};

/** Leaves out what XML has no way to say. */
function escape(text: string): string {
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- they are what is left out
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
      .replace(/[&<>"\n]/g, (character) => ENTITIES[character] ?? character)
  );
}
