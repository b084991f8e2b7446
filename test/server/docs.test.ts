import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { testServer } from "../kit/test-server.ts";

describe("the page for people", () => {
  it.each(["/docs", "/redoc"])("%s is HTML whose policy allows its own script and nothing else", async (path) => {
    await using server = await testServer();
    const response = await fetch(server.url + path);
    const html = await response.text();
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const script = /<script>([\s\S]*)<\/script>/.exec(html)?.[1] ?? "";
    const hash = createHash("sha256").update(script).digest("base64");
    expect(response.headers.get("content-security-policy")).toContain(`script-src 'sha256-${hash}'`);
    expect(html).not.toMatch(/innerHTML|https?:\/\//);
  });
});
