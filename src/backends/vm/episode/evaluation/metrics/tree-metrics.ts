import { z } from "zod";
import { brief, failed, type Metric, readExpected, toParsedJson, verdict } from "../metric.ts";
import { isEqual, isRecord } from "./equality.ts";

const NodeRule = z.looseObject({
  exact: z.boolean().default(true).describe("Texts are the same; otherwise they hold the rule's."),
  count: z.int().min(0).optional().describe("How many there are; one at least by default."),
});
const Rules = z.union([
  z.array(NodeRule).min(1),
  z.looseObject({ rules: z.array(NodeRule).min(1) }).transform((one) => one.rules),
]);
const MAX_NODES = 1_000_000;

/** Each rule fits a node of the accessibility tree: by its role, name, text, states or whatever else nodes have. */
export const checkAccessibilityTree: Metric = {
  judge(input) {
    const rules = readExpected(input, Rules);
    const nodes = toNodes(toParsedJson(input.result, "result"));
    for (const { exact, count, ...wanted } of rules) {
      const many = nodes.filter((node) => fits(node, wanted, exact)).length;
      if (count === undefined && many > 0) continue;
      const judgement = verdict(many === count, `${many} nodes fit ${brief(wanted)}`);
      if (judgement.score < 1) return count === undefined ? failed(`no node fits ${brief(wanted)}`) : judgement;
    }
    return { score: 1 };
  },
};

function toNodes(root: unknown): Record<string, unknown>[] {
  const nodes: Record<string, unknown>[] = [];
  const rest: unknown[] = [root];
  while (rest.length > 0 && nodes.length < MAX_NODES) {
    const value = rest.pop();
    if (Array.isArray(value)) for (const item of value) rest.push(item);
    else if (isRecord(value)) {
      nodes.push(value);
      for (const child of Object.values(value)) if (typeof child === "object") rest.push(child);
    }
  }
  return nodes;
}

function fits(node: Record<string, unknown>, wanted: Record<string, unknown>, exact: boolean): boolean {
  return Object.entries(wanted).every(([key, value]) => {
    const found = node[key];
    // States and the like: those that are named are among them.
    if (Array.isArray(value)) return Array.isArray(found) && value.every((one) => found.some((it) => isEqual(it, one)));
    if (exact || typeof value !== "string") return isEqual(found, value);
    return typeof found === "string" && found.toLowerCase().includes(value.toLowerCase());
  });
}
