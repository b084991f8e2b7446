import { describe, expect, it } from "vitest";
import { Backend } from "../../src/core/backend.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { type ErrorName, ToolyardError } from "../../src/core/errors.ts";
import { tool } from "../../src/core/tool.ts";
import { testServer } from "../kit/test-server.ts";

/** A backend whose sandbox dies on the test's word. */
class Mortal extends Backend<{ alive: boolean }> {
  readonly resource = "mortal";
  readonly #error: ErrorName;
  cleaned = 0;

  constructor(error: ErrorName) {
    super({ config: {} });
    this.#error = error;
  }

  override async initialize() {
    return { alive: true };
  }

  override async cleanup() {
    this.cleaned += 1;
  }

  @tool({ description: "Die." })
  die(_: object, { session }: ToolContext<{ alive: boolean }>) {
    session.data.alive = false;
    throw new ToolyardError(this.#error, "the sandbox died");
  }

  @tool({ description: "Look." })
  look(_: object, { session }: ToolContext<{ alive: boolean }>) {
    return { alive: session.data.alive };
  }
}

describe.each(["sandbox_dead", "session_lost"] as const)("a session whose call fails with %s", (error) => {
  it("ends, so that the next create makes a new one (D4)", async () => {
    const mortal = new Mortal(error);
    await using server = await testServer({ backends: [mortal] });
    await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "mortal" });
    const died = await server.execute("mortal:die");
    expect(died.body.meta).toMatchObject({ outcome: "infra_error", error });
    const again = await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "mortal" });
    expect(again.body.data).not.toHaveProperty("status");
    const look = await server.execute("mortal:look");
    expect(look.body.data).toEqual({ alive: true });
    expect(mortal.cleaned).toBe(1);
  });

  it("is session_lost to who names it, and told to who does not", async () => {
    await using server = await testServer({ backends: [new Mortal(error)] });
    const created = await server.post("/api/v1/session/create", { worker_id: "w1", resource_type: "mortal" });
    const { session_id } = created.body.data;
    await server.execute("mortal:die");
    const named = await server.execute("mortal:look", {}, { session_id });
    expect(named.status).toBe(410);
    expect(named.body.meta).toMatchObject({ outcome: "infra_error", error: "session_lost" });
    const unnamed = await server.execute("mortal:look");
    expect(unnamed.body.meta).toMatchObject({ temporary_session: true, lost_session: session_id });
    const stranger = await server.execute("mortal:look", {}, { session_id, worker_id: "w2" });
    expect(stranger.body.meta.error).toBe("session_not_found");
  });
});
