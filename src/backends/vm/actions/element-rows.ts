import { ToolyardError } from "../../../core/errors.ts";
import type { AgentNodes } from "../desktop-agent/agent-answers.ts";
import { agentOf } from "../desktop-agent/agent-port.ts";
import { toToldElement } from "../desktop-agent/image-box.ts";
import { toXml } from "../desktop-agent/tree-xml.ts";
import type { Point } from "../screen/view.ts";
import { toKeysyms } from "../keys/key-combination.ts";
import { AGENT_ACTION_SCHEMAS } from "./agent-action-schemas.ts";
import type { ActionOf } from "./action.ts";
import type { Rows } from "./action-row.ts";
import type { Operator } from "./operator.ts";
import { typeText } from "./type-method.ts";
import { windowInfo } from "./window-rows.ts";

const TIMEOUT_MS = 10_000;
/** Beyond a walk's own deadline, at which it answers what it has. */
const BEYOND_MS = 2_000;

/** Elements of programs, by what they tell of themselves. */
export const ELEMENT_ROWS: Rows<
  "accessibility_tree" | "find_element" | "focus_element" | "invoke_element" | "set_element_value" | "terminal_text"
> = {
  accessibility_tree: async (action, operator, signal) => {
    const { nodes, truncated, unresponsive } = await walk(action, operator, signal);
    const facts = { truncated, unresponsive_programs: unresponsive };
    if (action.format === "xml") return { told: { tree: toXml(nodes, operator.view), ...facts } };
    return { told: { elements: nodes.map((node) => toToldElement(node, operator.view)), ...facts } };
  },

  find_element: async (action, operator, signal) => ({ told: await findElements(action, operator, signal) }),

  focus_element: async ({ ref }, operator, signal) => {
    await agentOf(operator.driver).ask("focus", { ref }, { timeoutMs: TIMEOUT_MS, signal });
    return { told: { ref } };
  },

  invoke_element: async ({ ref, name }, operator, signal) => {
    const args = { ref, ...(name === undefined ? {} : { name }) };
    const done = await agentOf(operator.driver).ask("invoke", args, { timeoutMs: TIMEOUT_MS, signal });
    return { told: { ref, name: done.name } };
  },

  set_element_value: async ({ ref, value }, operator, signal) => {
    const agent = agentOf(operator.driver);
    const options = { timeoutMs: TIMEOUT_MS, signal };
    const { done, editable } = await agent.ask("set_value", { ref, value: String(value) }, options);
    if (done) return { told: { ref, by: "program" } };
    if (editable !== true) {
      throw new ToolyardError("business_failure", `the element ${ref} takes no value`, {
        suggestion: "Click it, or find the element in it that takes one.",
      });
    }
    await agent.ask("focus", { ref }, options);
    await retype(String(value), operator, signal);
    return { told: { ref, by: "keys" } };
  },

  terminal_text: async ({ window_id: id, app }, operator, signal) => {
    const args = { ...(await toScope({ window_id: id, app }, operator, signal)), max_nodes: 2_000 };
    const found = await agentOf(operator.driver).ask("terminal_text", args, { timeoutMs: TIMEOUT_MS, signal });
    return { told: found };
  },
};

/** The tree of all programs as XML, as the known tools tell it. */
export async function readTree(operator: Operator, signal: AbortSignal): Promise<string> {
  const action = AGENT_ACTION_SCHEMAS.accessibility_tree.parse({ action: "accessibility_tree" });
  return toXml((await walk(action, operator, signal)).nodes, operator.view);
}

/** The middle of an element, scrolled into view. */
export async function locate(ref: string, { driver }: Operator, signal: AbortSignal): Promise<Point> {
  const { box } = await agentOf(driver).ask("locate", { ref }, { timeoutMs: TIMEOUT_MS, signal });
  const [left, top, width, height] = box;
  const x = Math.floor(left + width / 2);
  const y = Math.floor(top + height / 2);
  if (x >= 0 && y >= 0 && x < driver.size.width && y < driver.size.height) return { x, y };
  throw new ToolyardError("business_failure", `the element ${ref} is not on the screen`, {
    suggestion: "Scroll to it, or activate its window, first.",
  });
}

type Find = Omit<ActionOf<"find_element">, "action">;

/** Elements that are as asked for, the nearest to the top of the trees first. */
export async function findElements(action: Find, operator: Operator, signal: AbortSignal) {
  const { role, name, text, exact, limit, deadline_ms: timeoutMs, max_depth, max_nodes, hidden } = action;
  const wanted = { role, name, text, exact, limit, max_depth, max_nodes, hidden };
  const args = { ...definedOf(wanted), ...(await toScope(action, operator, signal)) };
  const found = await agentOf(operator.driver).ask("find", args, { timeoutMs: timeoutMs + BEYOND_MS, signal });
  const elements = found.nodes.map((node) => {
    const { parent: _parent, ...told } = toToldElement(node, operator.view);
    return told;
  });
  return { elements, truncated: found.truncated, unresponsive_programs: found.unresponsive };
}

async function walk(
  action: ActionOf<"accessibility_tree">,
  operator: Operator,
  signal: AbortSignal,
): Promise<AgentNodes> {
  const { max_depth, max_nodes, hidden, deadline_ms: timeoutMs } = action;
  const args = { max_depth, max_nodes, hidden, ...(await toScope(action, operator, signal)) };
  return agentOf(operator.driver).ask("tree", args, { timeoutMs, signal });
}

async function toScope(
  { window_id: id, app }: { readonly window_id?: number | undefined; readonly app?: string | undefined },
  operator: Operator,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  if (id === undefined) return definedOf({ app });
  const { pid, title, box } = await windowInfo(id, operator, signal);
  return { ...definedOf({ app }), window: { pid, title, box } };
}

function definedOf(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Types over all that the focused field holds. */
async function retype(text: string, operator: Operator, signal: AbortSignal): Promise<void> {
  const { hands } = operator;
  const press = (keysyms: readonly number[]) => hands.holding(keysyms, () => {});
  await press(toKeysyms(["ctrl", "a"]));
  if (text === "") await press(toKeysyms(["Delete"]));
  else await typeText(text, { method: "auto", delayMs: 0 }, operator, signal);
  await operator.flush(signal);
}
