import { onTestFinished } from "vitest";
import VmBackend from "../../../src/backends/vm/backend.ts";
import { testServer } from "../../kit/test-server.ts";
import { localRuntimes } from "./local-desktops.ts";

/** A real server with desktops of this machine, ended with the test; what is called runs in one session. */
export async function desktopServer(config: Record<string, unknown> = {}, dataDir?: string) {
  const vm = { quiet_ms: 50, settle_ms: 500, width: 640, height: 480, ...config };
  const backend = new VmBackend({ config: vm, runtimes: localRuntimes, ...(dataDir !== undefined && { dataDir }) });
  const server = await testServer({ backends: [backend] });
  onTestFinished(() => server[Symbol.asyncDispose]());
  /** Opens the worker's session, which all calls run in. */
  const open = async (sessionConfig: Record<string, unknown> = {}, worker = "w1"): Promise<string> => {
    const request = { worker_id: worker, resource_type: "vm", session_config: sessionConfig };
    const { body } = await server.post("/api/v1/session/create", request);
    if (body.code !== 0) throw new Error(`no session: ${body.message}`);
    return body.data.session_id;
  };
  // Tests look into answers of every shape; what they expect is checked by the assertion itself.
  // oxlint-disable-next-line typescript/no-explicit-any
  const call = async (tool: string, params: object = {}): Promise<any> => {
    const { body } = await server.execute(`vm:${tool}`, params);
    if (body.code !== 0) throw new Error(`vm:${tool}: ${body.message}`);
    return body.data;
  };
  const fail = async (tool: string, params: object = {}) => {
    const { body } = await server.execute(`vm:${tool}`, params);
    return { error: body.meta?.error, outcome: body.meta?.outcome, message: body.message };
  };
  return { server, open, call, fail };
}
