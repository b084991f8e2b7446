import { onTestFinished } from "vitest";
import type { CodeActions } from "../../../src/backends/code/actions.ts";
import CodeBackend from "../../../src/backends/code/backend.ts";
import type { CodeContext, CodeSession } from "../../../src/backends/code/session.ts";
import type { LifecycleContext, Logger } from "../../../src/core/context.ts";
import type { SandboxRuntime } from "../../../src/core/runtime.ts";
import type { Session } from "../../../src/core/session.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";
import { echo } from "../../kit/runtime-conformance.ts";

const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };

export const lifecycle = (signal = new AbortController().signal): LifecycleContext => ({
  resource: "code",
  logger: quiet,
  signal,
});

/** A code backend over these runtimes with one session of it, which ends with the test unless `whenOver` says otherwise; calls are held to the tools' schemas. */
export async function openCodeSession(
  runtimes: readonly SandboxRuntime[],
  config: Record<string, unknown> = {},
  sessionConfig: Record<string, unknown> = {},
  whenOver: (close: () => Promise<void>) => void = onTestFinished,
) {
  const selector = createRuntimeSelector({ order: runtimes.map(({ name }) => name), runtimes });
  whenOver(() => selector.close());
  const backend = new CodeBackend({ config, runtimes: selector });
  const request = { workerId: "w", tenant: "t", sessionId: "s", config: sessionConfig };
  const data = await backend.initialize(request, lifecycle());
  const session: Session<CodeSession> = {
    id: "s",
    name: "code_w_001",
    workerId: "w",
    tenant: "t",
    resource: "code",
    config: sessionConfig,
    data,
  };
  const context = (overrides: Partial<CodeContext> = {}): CodeContext => ({
    session,
    workerId: "w",
    tenant: "t",
    callId: "c",
    traceId: "t",
    logger: quiet,
    signal: new AbortController().signal,
    timeLeftMs: 60_000,
    progress: () => {},
    output: () => {},
    setOutcome: () => {},
    call: (action, args = {}) => echo({ index: 0, tool: action, args }),
    ...overrides,
  });
  const call = async <A extends keyof CodeActions>(
    action: A,
    params: CodeActions[A]["params"],
    overrides: Partial<CodeContext> = {},
  ): Promise<CodeActions[A]["result"]> => {
    const tool = backend.tools().get(action.replace(/^code:/, ""));
    if (tool === undefined) throw new Error(`there is no ${action}`);
    // The catalogue hands a tool the context of its own backend, as this does.
    const result = await tool.invoke(tool.definition.params.parse(params), context(overrides) as never);
    // Checked just now: the schema is the one that the type is made from.
    return tool.definition.result?.parse(result) as CodeActions[A]["result"];
  };
  const names = [...backend.tools().keys()].map((name) => (/[:_]/.test(name) ? name : `code:${name}`));
  return { backend, session, selector, call, names };
}
