import { describe, expect, it } from "vitest";
import { Backend } from "../../src/core/backend.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { ToolyardError } from "../../src/core/errors.ts";
import { tool } from "../../src/core/tool.ts";
import { ManualClock } from "../kit/manual-clock.ts";
import { testServer } from "../kit/test-server.ts";

/** Ends with an error of its own once its signal aborts. */
class LastWords extends Backend {
  readonly resource = "last";
  started: () => void = () => undefined;

  @tool({ description: "Say what was printed until the end." })
  async printed(_: object, { signal }: ToolContext) {
    await this.#ended(signal);
    throw new ToolyardError("cancelled", "the code was cancelled", {
      details: { timeout_ms: 499, stdout: "half", state_lost: true },
    });
  }

  @tool({ description: "Meet another failure on the way out." })
  async died(_: object, { signal }: ToolContext) {
    await this.#ended(signal);
    throw new ToolyardError("sandbox_dead", "the sandbox died");
  }

  #ended(signal: AbortSignal): Promise<void> {
    this.started();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  }
}

describe("the last word of a tool whose time is over", () => {
  async function timeOut(name: string) {
    const clock = new ManualClock();
    const backend = new LastWords({ config: {} });
    await using server = await testServer({ backends: [backend], clock });
    const started = new Promise<void>((resolve) => (backend.started = resolve));
    const answering = server.execute(name, {}, { timeout_ms: 500 });
    await started;
    await clock.advance(500);
    return answering;
  }

  it("adds what it had printed to the timeout", async () => {
    const { status, body } = await timeOut("last:printed");
    expect(status).toBe(500);
    expect(body).toMatchObject({
      code: 5006,
      message: "last:printed timed out after 500 ms",
      data: { limit: "timeout", timeout: 0.5, timeout_ms: 500, stdout: "half", state_lost: true },
      meta: { outcome: "limit", error: "timeout" },
    });
  });

  it("is believed when it names another failure", async () => {
    const { body } = await timeOut("last:died");
    expect(body.meta).toMatchObject({ outcome: "infra_error", error: "sandbox_dead" });
  });
});
