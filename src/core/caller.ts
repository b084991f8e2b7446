import type { ToolAnnotations } from "./tool.ts";
import type { ToolResult } from "./result.ts";

/** Where a call comes from: a client, or code that runs in a sandbox. */
export type CallerKind = "direct" | "code";

/** How one call is to be run. */
export interface CallOptions {
  /** Milliseconds from the call's arrival, queueing included; the server's default and maximum apply. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** The session that the call must run in; the call fails if it is not the live one. */
  readonly sessionId?: string;
  readonly traceId?: string;
  /** Who asks, for the tool's `allowedCallers`; `direct` by default. */
  readonly caller?: CallerKind;
}

/** One tool as a caller sees it. Schemas are JSON Schema 2020-12. */
export interface ToolListing {
  readonly name: string;
  readonly full_name: string;
  readonly resource_type: string | null;
  readonly stateless: boolean;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly annotations: ToolAnnotations;
  readonly allowed_callers: readonly CallerKind[];
  /** `null` means the server's default. */
  readonly timeout_ms: number | null;
  readonly hidden: boolean;
}

/** What the agent loop, MCP and sandboxed code see of the engine. */
export interface ActionCaller {
  list(): readonly ToolListing[];
  call(action: string, params: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<ToolResult>;
}
