import { existsSync } from "node:fs";
import path from "node:path";
import { onTestFinished } from "vitest";
import VmBackend from "../../../../src/backends/vm/backend.ts";
import type { VmContext, VmSession } from "../../../../src/backends/vm/session.ts";
import { ToolyardError } from "../../../../src/core/errors.ts";
import type { Logger } from "../../../../src/core/context.ts";
import type { RuntimeSelector } from "../../../../src/core/runtime.ts";
import type { Session } from "../../../../src/core/session.ts";

const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };

/** As {@link startVmSession}, ended with the test. */
export async function openVmSession(...given: Parameters<typeof startVmSession>) {
  const session = await startVmSession(...given);
  onTestFinished(() => session.close());
  return session;
}

/** A session of the vm backend whose tools are called as the engine calls them. */
export async function startVmSession(
  runtimes: RuntimeSelector,
  config: Readonly<Record<string, unknown>> = {},
  sessionConfig: Readonly<Record<string, unknown>> = {},
) {
  const backend = new VmBackend({ config: { quiet_ms: 50, settle_ms: 1_000, ready_ms: 110_000, ...config }, runtimes });
  const { signal } = new AbortController();
  const request = { workerId: "w", tenant: "t", sessionId: "s", config: sessionConfig };
  const data = await backend.initialize(request, { resource: "vm", logger: quiet, signal });
  const about = { id: "s", name: "vm_w_001", workerId: "w", tenant: "t", resource: "vm", config: sessionConfig };
  const session: Session<VmSession> = { ...about, data };
  const outcomes: string[] = [];
  const context = { session, signal, setOutcome: (outcome: string) => outcomes.push(outcome) };
  const tools = backend.tools();
  // Tests look into answers of every shape; what they expect is checked by the assertion itself.
  // oxlint-disable-next-line typescript/no-explicit-any
  const call = async (name: string, params: object = {}): Promise<any> => {
    const tool = tools.get(name);
    if (tool === undefined) throw new Error(`there is no ${name}`);
    // Of a context, these tools use the session, the signal and the outcome.
    const result = await tool.invoke(tool.definition.params.parse(params), context as unknown as VmContext as never);
    return tool.definition.result?.parse(result) ?? result;
  };
  /** The error that a call ends with. */
  const fail = async (name: string, params: object = {}): Promise<ToolyardError> => {
    const error: unknown = await call(name, params).then(
      () => null,
      (reason: unknown) => reason,
    );
    if (error instanceof ToolyardError) return error;
    throw new Error(`${name} did not fail as it should`, { cause: error });
  };
  /** The first element that is as wanted. */
  const one = async (wanted: object) => {
    const { elements } = await call("find_element", wanted);
    if (elements.length === 0) throw new Error(`there is no element ${JSON.stringify(wanted)}`);
    return elements[0];
  };
  return { backend, session, call, fail, one, outcomes, close: () => backend.cleanup(session) };
}

/** Whether this machine has a program of that name. */
export function hasProgram(name: string): boolean {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  return folders.some((folder) => existsSync(path.join(folder, name)));
}
