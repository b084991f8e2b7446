import { ToolyardError } from "../../../core/errors.ts";
import type { AgentAnswer, AgentOp } from "./agent-answers.ts";

/** What bounds a request to the agent. */
export interface AskOptions {
  /** Milliseconds until it is given up, inside the agent and here. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The desktop's agent: windows, the clipboard, elements of programs, and code in the desktop. */
export interface AgentPort {
  /**
   * @throws ToolyardError `stale_ref` for a window or an element that is gone; `business_failure` for what a program or the window
   *   manager would not do; `timeout`; `dependency_failed` when the agent is not there or has died; the signal's reason.
   */
  ask<O extends AgentOp>(op: O, args: Readonly<Record<string, unknown>>, options: AskOptions): Promise<AgentAnswer<O>>;
}

/** @throws ToolyardError `runtime_unavailable` when the desktop has none. */
export function agentOf({ agent }: { readonly agent?: AgentPort | undefined }): AgentPort {
  if (agent !== undefined) return agent;
  throw new ToolyardError(
    "runtime_unavailable",
    "this desktop has no agent, which windows and elements are reached by",
    {
      suggestion: "Use a vm backend whose provider is docker or local.",
    },
  );
}
