import type { BoundTool } from "../../../core/tool.ts";
import type { VmContext } from "../session.ts";

/** Tools whose own doing is no action in the episode: they are about it. */
const ABOUT_IT: ReadonlySet<string> = new Set(["reset", "evaluate", "done", "fail"]);

/**
 * Has tools that change something remembered by their names, where they do no action of the table: a program that was started is a
 * part of what was done.
 */
export function remembered(tools: ReadonlyMap<string, BoundTool>): ReadonlyMap<string, BoundTool> {
  return new Map([...tools].map(([name, tool]) => [name, isAction(name, tool) ? remember(tool) : tool]));
}

function isAction(name: string, { definition }: BoundTool): boolean {
  return definition.annotations.destructiveHint === true && !ABOUT_IT.has(name) && !name.startsWith("recording_");
}

function remember(tool: BoundTool): BoundTool {
  return {
    ...tool,
    invoke(params, context) {
      // A tool of this backend is called with its sessions.
      const call = context as unknown as VmContext;
      const { desktop, episode } = call.session.data;
      // Params are those of the tool's own object schema.
      return episode.aroundTool(tool.name, params as Record<string, unknown>, desktop.operator, call, async () =>
        tool.invoke(params, context),
      );
    },
  };
}
