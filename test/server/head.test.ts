import { describe, expect, it } from "vitest";
import { testServer } from "../kit/test-server.ts";

describe("HEAD on a stream", () => {
  it("takes no reader's place", async () => {
    await using server = await testServer({ limits: { streamClients: 3 } });
    for (let count = 0; count < 8; count += 1) {
      const { status } = await fetch(`${server.url}/api/v1/events`, { method: "HEAD" });
      expect(status).toBe(200);
    }
    expect(server.engine.log.watcherCount).toBe(0);
  });

  it("lets a stop force what a first stop waits for", async () => {
    await using server = await testServer({ limits: { drainMs: 60_000 } });
    void server.stop();
    await server.stop({ force: true });
    expect(server.engine.stopping).toBe(true);
  });
});
