import { describe, expect, it } from "vitest";
import { browserServer, sandboxedBrowserLacking } from "./browser-server.ts";

const page = (html: string) => `data:text/html,${encodeURIComponent(html)}`;

describe.skipIf(sandboxedBrowserLacking !== undefined)("a script that never ends", () => {
  it("holds its tab no longer than the call that meets it", async () => {
    const { server, open, call, fail } = await browserServer();
    await open();
    await call("evaluate", { expression: "setTimeout(() => { for (;;); }, 500), 1" });
    const ask = async () => {
      const { body } = await server.execute("browser:evaluate", { expression: "1 + 1", timeout_ms: 1_000 });
      return body.meta;
    };
    await expect.poll(ask, { timeout: 30_000 }).toMatchObject({
      ...{ error: "timeout", outcome: "limit" },
      suggestion: expect.stringContaining("browser:new_tab"),
    });
    await call("navigate", { url: page("<p>after the loop") });
    expect(await call("text")).toMatchObject({ text: expect.stringContaining("after the loop") });
    expect(await fail("evaluate", { expression: "for (;;);", timeout_ms: 1_000 })).toMatchObject({ error: "timeout" });
    expect(await call("evaluate", { expression: "1 + 1" })).toMatchObject({ value: 2 });
  });
});
