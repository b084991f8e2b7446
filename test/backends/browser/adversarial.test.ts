import { describe, expect, it } from "vitest";
import BrowserBackend from "../../../src/backends/browser/backend.ts";
import { testServer } from "../../kit/test-server.ts";
import { browserServer, openSite, sandboxedBrowserLacking } from "./browser-server.ts";

const NAMES = [...new BrowserBackend({ config: {} }).tools().keys()];

describe("D10: params of the wrong kind", () => {
  it.each(NAMES)("are refused by browser:%s, and make no session", async (name) => {
    // Without a runtime any session that is made fails in its own way.
    await using server = await testServer({ backends: [new BrowserBackend({ config: {} })] });
    const wrong = [
      { tab: "1", timeout_ms: -1, no_such: true },
      { url: 7, ref: ["e1"], x: "left", cookies: {}, state: [], id: null },
    ];
    for (const params of wrong) {
      // oxlint-disable-next-line no-await-in-loop -- two
      const { body, status } = await server.execute(`browser:${name}`, params);
      expect([status, body.meta?.outcome, body.meta?.session_id]).toEqual([400, "rejected", null]);
      expect(["invalid_input", "missing_field"]).toContain(body.meta?.error);
    }
  });
});

describe.skipIf(sandboxedBrowserLacking !== undefined)("what a page or a caller may do to files", () => {
  it("C01 C04 C05: names lead nowhere else, special files are none, and what is endless is cut", async () => {
    const { port, url } = await openSite(({ url: path = "/" }, response) => {
      if (path === "/file") {
        const name = "attachment; filename=\"../../../../tmp/evil.sh\"; filename*=UTF-8''..%2F..%2Fetc%2Fcron.d%2Fevil";
        response
          .writeHead(200, { "content-type": "application/octet-stream", "content-disposition": name })
          .end("evil");
        return;
      }
      response.writeHead(200, { "content-type": "text/html" });
      response.end(
        "<title>Big</title><input type=file><pre id=big></pre><script>big.textContent = 'copper '.repeat(2e4)</script>",
      );
    });
    const { open, call, fail } = await browserServer({ config: { network: { allow: [`shop.test:${port}`] } } });
    await open();
    await fail("navigate", { url: `${url}/file` });
    const downloads = async () => (await call("downloads")).downloads;
    await expect.poll(downloads).toMatchObject([{ state: "completed", bytes: 4 }]);
    const [download] = await downloads();
    expect(download.path).toBe(`/workspace/downloads/${download.id}`);
    expect(download.filename).not.toMatch(/[/\\]/);
    expect(Buffer.from((await call("read_download", { id: download.id })).base64, "base64").toString()).toBe("evil");
    for (const id of ["../../../etc/passwd", "%2e%2e%2fpasswd", "__proto__", "a\u0000b"]) {
      // oxlint-disable-next-line no-await-in-loop -- one browser
      expect(await fail("read_download", { id })).toMatchObject({ error: "unknown_name", outcome: "rejected" });
    }
    await call("navigate", { url });
    const special = [
      "/dev/zero",
      "/proc/self/fd/0",
      "/workspace",
      "no such",
      "../../../../no such",
      "a\u0000b",
      "x".repeat(4_096),
    ];
    for (const path of special) {
      // oxlint-disable-next-line no-await-in-loop
      const { error, outcome } = await fail("upload", { selector: "input", paths: [path] });
      expect([path, error]).toEqual([path, expect.stringMatching(/^(path_not_found|path_refused)$/)]);
      expect(outcome).not.toBe("infra_error");
    }
    const { text, characters, next_offset: next } = await call("text");
    expect([text.length, next]).toEqual([20_000, 20_000]);
    expect(characters).toBe(140_000);
    const { text: markdown } = await call("markdown", { max_characters: 100 });
    expect(markdown).toHaveLength(100);
    const { snapshot } = await call("snapshot");
    expect(snapshot.length).toBeLessThan(100_000);
  });
});
