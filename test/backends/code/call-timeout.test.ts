import { describe, expect, it } from "vitest";
import CodeBackend from "../../../src/backends/code/backend.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";
import { testServer } from "../../kit/test-server.ts";

describe("code:run when the call's own time is over", () => {
  it("interrupts a loop in QuickJS and keeps the state and what was printed", async () => {
    const runtimes = createRuntimeSelector({ order: ["quickjs"] });
    await using server = await testServer({ backends: [new CodeBackend({ config: {}, runtimes })] });
    await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "code" });
    await server.execute("code:run", { code: "let kept = 42" });
    const looped = await server.execute(
      "code:run",
      { code: "console.log('so far'); for (;;) {}" },
      { timeout_ms: 2_000 },
    );
    expect(looped.body).toMatchObject({
      code: 5006,
      data: { limit: "timeout", stdout: "so far\n", state_lost: false },
      meta: { outcome: "limit", error: "timeout" },
    });
    const after = await server.execute("code:run", { code: "kept" });
    expect(after.body.data.result).toBe(42);
    await runtimes.close();
  });
});
