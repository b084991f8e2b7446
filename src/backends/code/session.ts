import type { ToolContext } from "../../core/context.ts";
import type { SessionSandboxes } from "./sandboxes.ts";
import type { Turn } from "./turn.ts";

/** What a session of the code backend holds. */
export interface CodeSession {
  readonly sandboxes: SessionSandboxes;
  /** Of code and commands whose call does not say. */
  readonly timeoutMs: number;
  /** Those who change a file by what they read of it, by path. */
  readonly edits: Map<string, Turn>;
}

/** What the tools of the code backend are given. */
export type CodeContext = ToolContext<CodeSession>;
