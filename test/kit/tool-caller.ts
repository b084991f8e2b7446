import type { TestServer } from "./test-server.ts";

// Tests look into answers of every shape; what they expect is checked by the assertion itself.
// oxlint-disable-next-line typescript/no-explicit-any
type Found = Record<string, any>;

/** Calls a tool of a server as a worker. */
export type Call = (action: string, params?: object, more?: object) => Promise<Found>;

/** Answers a call's data, or the failure's name as `failed` with its outcome, message and data. */
export function caller(server: TestServer): Call {
  return async (action, params = {}, more = {}) => {
    const { body } = await server.execute(action, params, more);
    const { error, outcome } = body.meta ?? {};
    return error === undefined
      ? { ...body.data, outcome }
      : { failed: error, outcome, message: body.message, suggestion: body.meta?.suggestion, ...body.data };
  };
}
