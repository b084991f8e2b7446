import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parseConfig } from "../../../src/config/load.ts";
import { loadBackends } from "../../../src/plugins/load-backends.ts";
import { recordingLogger } from "../../kit/recording-logger.ts";
import { startCli } from "../../cli/cli-process.ts";
import { openDouble, openSite } from "./web-doubles.ts";

it("D23 serves from a config of a real server, in whose thread it runs, with a key from the environment", async () => {
  const folder = await mkdtemp(join(tmpdir(), "toolyard-web-server-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const serper = await openDouble(({ headers }) => {
    expect(headers["x-api-key"]).toBe("from the environment");
    return { organic: [{ title: "Copper", link: "https://example.org/", snippet: "" }] };
  });
  const site = await openSite({ "/": "<h1>Copper</h1>", "/slow": () => undefined });
  const config = {
    serper: { api_key: "${TOOLYARD_TEST_SERPER_KEY}", url: serper.url },
    http: { private_hosts: [site.host], robots: "ignore" },
  };
  const file = join(folder, "config.json");
  await writeFile(file, JSON.stringify({ resources: { web: { backend: "web", config } } }));
  process.env["TOOLYARD_TEST_SERPER_KEY"] = "from the environment";
  onTestFinished(() => void delete process.env["TOOLYARD_TEST_SERPER_KEY"]);
  const server = startCli(["serve", "--config", file, "--port", "0", "--ephemeral"]);
  const [, url = ""] = await server.line(/listens on (http:\/\/[^ ]+)/);
  const call = async (action: string, params: object, signal?: AbortSignal) => {
    const body = JSON.stringify({ worker_id: "w1", action, params });
    return (await fetch(`${url}/execute`, { method: "POST", body, ...(signal && { signal }) })).json();
  };
  expect(await call("web:search", { query: "copper" })).toMatchObject({
    data: { searches: [{ provider: "serper", results: [{ url: "https://example.org/" }] }] },
    // D22: no session is made for it.
    meta: { session_id: null },
  });
  expect(await call("web:visit", { urls: site.url })).toMatchObject({ data: { pages: [{ text: "## Copper" }] } });
  expect(await call("web:visit", { urls: "http://127.0.0.1:1/" })).toMatchObject({
    meta: { error: "address_refused" },
  });
  const listed: unknown = await (await fetch(`${url}/api/v1/tools`)).json();
  expect(listed).toMatchObject({
    tools: expect.arrayContaining([
      expect.objectContaining({ full_name: "web:reverse_image_search", stateless: true }),
    ]),
  });
  const caller = new AbortController();
  const gone = call("web:visit", { urls: `${site.url}/slow` }, caller.signal).catch(() => "gone");
  await expect.poll(() => site.requests.some(({ path }) => path === "/slow")).toBe(true);
  caller.abort();
  expect(await gone).toBe("gone");
  await expect.poll(() => site.brokenOff()).toBe(1);
  server.child.kill("SIGKILL");
  await server.ended;
});

it("refuses a config that is wrong, and names the key", async () => {
  const load = (config: object) => {
    const text = JSON.stringify({ resources: { web: { backend: "web", config } } });
    return loadBackends(parseConfig(text, { file: "t.json", environment: {} }), {
      configDir: ".",
      logger: recordingLogger(),
    });
  };
  await expect(load({ serper: { key: "x" } })).rejects.toThrow(/resources\.web\.config\.serper/);
  await expect(load({ http: { ports: [0] } })).rejects.toThrow(/http\.ports/);
  await expect(load({ http: { private_hosts: ["not a host"] } })).rejects.toThrow(/is no host/);
});
