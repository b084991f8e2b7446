import { describe, expect, it } from "vitest";
import { CounterBackend } from "../kit/counter-backend.ts";
import { testServer } from "../kit/test-server.ts";

describe("POST /execute", () => {
  it("runs a tool in a temporary session and says so", async () => {
    const counter = new CounterBackend();
    await using server = await testServer({ backends: [counter] });
    const { status, body } = await server.execute("counter:incr", { by: 3 });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      code: 0,
      message: "success",
      data: { value: 3 },
      meta: { tool: "counter:incr", resource_type: "counter", temporary_session: true, outcome: "ok" },
    });
    expect(body.meta.trace_id).toMatch(/^[0-9a-f-]{36}$/);
  });
});
