import type { BoundTool } from "../../core/tool.ts";
import { readTree } from "./actions/element-rows.ts";
import type { VmContext } from "./session.ts";

const FIELD = "accessibility_tree";

/** Fills in the field of the known tools' results where the session wants it always. */
export function withTrees(tools: ReadonlyMap<string, BoundTool>): ReadonlyMap<string, BoundTool> {
  return new Map([...tools].map(([name, tool]) => [name, withTree(tool)]));
}

function withTree(tool: BoundTool): BoundTool {
  return {
    ...tool,
    async invoke(params, context) {
      const result = await tool.invoke(params, context);
      // A tool of this backend is called with its sessions.
      const { session, signal } = context as unknown as VmContext;
      const { operator } = session.data.desktop;
      if (operator.options.accessibilityTree !== true || !lacksTree(result)) return result;
      return { ...result, [FIELD]: await readTree(operator, signal) };
    },
  };
}

function lacksTree(result: unknown): result is Record<string, unknown> {
  return typeof result === "object" && result !== null && FIELD in result && result[FIELD] === null;
}
