import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import type { Logger } from "../../src/core/context.ts";
import { importModule } from "../../src/plugins/import-module.ts";
import { loadBackends } from "../../src/plugins/load-backends.ts";
import { testEngine } from "../kit/test-engine.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

const load = (resources: unknown, configDir = here, environment: Record<string, string> = {}, apis: object = {}) => {
  const config = parseConfig(JSON.stringify({ resources, apis }), { file: "t.json", environment });
  return loadBackends(config, { configDir, logger: silent });
};

describe("loadBackends", () => {
  it("mounts several instances of one backend under the names of their entries", async () => {
    const mounted = await load({
      one: { backend: "./unruly.ts#Unruly", config: { greeting: "a" } },
      two: { backend: "./unruly.ts#Unruly" },
      off: { enabled: false, backend: "./none.ts" },
    });
    expect(mounted.map(({ resource, backend }) => [resource, backend.config])).toEqual([
      ["one", { greeting: "a", size: 1 }],
      ["two", { greeting: "hi", size: 1 }],
    ]);
  });

  it("stands in for a threaded backend with the same tools, hooks and schemas", async () => {
    const [plain, threaded, block] = await load({
      plain: { backend: "./unruly.ts#Unruly" },
      threaded: { backend: "./unruly.ts#Unruly", thread: true },
      block: { backend: "../fixtures/block.ts", thread: true },
    });
    expect([...(threaded?.backend.tools().keys() ?? [])]).toEqual([...(plain?.backend.tools().keys() ?? [])]);
    expect(threaded?.backend.configSchema).toBeDefined();
    expect(threaded?.backend.concurrency).toBe("parallel");
    expect(threaded?.backend.initialize).toBeDefined();
    expect(block?.backend.initialize).toBeUndefined();
    expect(block?.backend.warmup).toBeUndefined();
  });

  it.each([false, true])("hands the settings of API tools to a backend whose thread is %s", async (thread) => {
    const [mounted] = await load(
      { a: { backend: "./api-settings.ts", thread } },
      here,
      { KEY: "s3cret" },
      {
        search: { api_key: "${KEY}" },
      },
    );
    const { engine, call } = testEngine(mounted === undefined ? [] : [mounted.backend]);
    expect(await call("settings:show")).toMatchObject({ data: { apis: { search: { api_key: "s3cret" } } } });
    await engine.stop();
  });

  it("reads a backend's own numbers from placeholders", async () => {
    const [mounted] = await load({ a: { backend: "./unruly.ts#Unruly", config: { size: "${SIZE}" } } }, here, {
      SIZE: "7",
    });
    expect(mounted?.backend.config).toMatchObject({ size: 7 });
  });

  it("reads the schema of a backend whose constructor refuses a config that is not read yet", async () => {
    const [mounted] = await load({ code: { config: { max_memory_mib: "${SIZE}" } } }, here, { SIZE: "700" });
    expect(mounted?.backend.config).toMatchObject({ max_memory_mib: 700 });
    await expect(load({ code: { config: { max_memory: 1 } } })).rejects.toThrow(
      "t.json: resources.code.config.max_memory: unknown key",
    );
  });

  it.each([
    [{ coed: {} }, 't.json: resources.coed.backend: there is no backend "coed" (did you mean "code"?)'],
    [{ a: { backend: "./none.ts" } }, "t.json: resources.a.backend: there is no file"],
    [{ a: { backend: "./unruly.ts" } }, "its exports that are: #Unruly"],
    [{ a: { backend: "./unruly.ts#notABackend" } }, "the notABackend export of"],
    [
      { a: { backend: "./unruly.ts#Unruly", config: { greting: "x" } } },
      't.json: resources.a.config.greting: unknown key (did you mean "greeting"?)',
    ],
    [{ a: { backend: "./unruly.ts#Unruly", config: { size: "7" } } }, "t.json: resources.a.config.size: "],
    [{ code: { thread: true } }, "t.json: resources.code.thread: the code backend cannot run in a thread"],
  ])("names file and key of %j", async (resources, message) => {
    await expect(load(resources)).rejects.toThrow(message);
  });

  describe("by module path", () => {
    let dir: string;
    beforeEach(async () => {
      dir = await mkdtemp(join(tmpdir(), "toolyard-plugins-"));
      await mkdir(join(dir, "inner"));
      await writeFile(join(dir, "outside.js"), "export default class { tools() {} }");
    });
    afterEach(() => rm(dir, { recursive: true, force: true }));

    it("refuses a module outside the config's own folder", async () => {
      await expect(load({ a: { backend: "../outside.js" } }, join(dir, "inner"))).rejects.toThrow(/lies outside/);
    });

    it("takes one beside the config's folder when both lie in one package", async () => {
      await writeFile(join(dir, "package.json"), '{"type":"module"}');
      const [mounted] = await load({ a: { backend: "../outside.js" } }, join(dir, "inner"));
      expect(mounted?.resource).toBe("a");
    });

    it("passes on what a module throws when it is loaded", async () => {
      await writeFile(join(dir, "bad.mjs"), "throw new Error('no luck')");
      await expect(load({ a: { backend: "./bad.mjs" } }, dir)).rejects.toThrow(/resources\.a\.backend: .*no luck/);
    });
  });
});

describe("importModule", () => {
  it("names tsx and how to get it when a TypeScript backend needs it and it is not there", async () => {
    const absent = (specifier: string) => Promise.reject(new Error(`Cannot find package '${specifier}'`));
    await expect(importModule("file:///x/backend.ts", absent)).rejects.toMatchObject({
      error: "dependency_failed",
      message: expect.stringContaining('needs the package "tsx"'),
      suggestion: expect.stringContaining("npm install --save-dev tsx"),
    });
  });
});
