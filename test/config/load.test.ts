import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";
import { toLimits } from "../../src/config/limits.ts";
import { loadConfig, parseConfig } from "../../src/config/load.ts";
import { defaultLimits } from "../../src/engine/limits.ts";
import { defaultHttpLimits } from "../../src/server/http-limits.ts";

const parse = (config: unknown, environment: Record<string, string> = {}) =>
  parseConfig(typeof config === "string" ? config : JSON.stringify(config), { file: "t.json", environment });

describe("parseConfig", () => {
  it("fills an empty config with defaults that bind to loopback", () => {
    const config = parse({});
    expect(config.server).toMatchObject({ host: "127.0.0.1", port: 18_890, log_level: "info", allowed_hosts: [] });
    expect(config.resources).toEqual({});
    expect(toLimits(config.limits)).toEqual({ engine: defaultLimits, http: defaultHttpLimits });
  });

  it("takes the known implementation's shape unchanged", () => {
    const config = parse({
      server: { title: "T", description: "D", session_ttl: 60, cleanup_interval: 7, log_level: "WARNING" },
      resources: {
        _vm_example: { backend_class: "vm", nonsense: "${NOT_SET}" },
        shell: { enabled: true, backend_class: "./shell.ts", description: "a shell", config: { a: 1 } },
      },
      apis: { _note: "hidden", search: { key: "k" } },
      warmup: { enabled: true, resources: ["shell"] },
      security: { allowed_origins: ["http://localhost:3000"] },
    });
    expect(config.server.log_level).toBe("warn");
    expect(config.limits).toMatchObject({ session_ttl_ms: 60_000, sweep_interval_ms: 7_000 });
    expect(config.resources).toEqual({
      shell: { enabled: true, backend: "./shell.ts", description: "a shell", config: { a: 1 } },
    });
    expect(config.apis).toEqual({ search: { key: "k" } });
  });

  it("lets an explicit limit win over server.session_ttl", () => {
    const config = parse({ server: { session_ttl: 60 }, limits: { session_ttl_ms: 1_500, body_bytes: 10 } });
    expect(toLimits(config.limits)).toMatchObject({ engine: { sessionTtlMs: 1_500 }, http: { bodyBytes: 10 } });
  });

  it("D23: expands placeholders in apis as everywhere else", () => {
    const config = parse({ apis: { web: { serper_api_key: "${SERPER_API_KEY}" } } }, { SERPER_API_KEY: "s3" });
    expect(config.apis).toEqual({ web: { serper_api_key: "s3" } });
  });

  it("reads a number or a boolean from a value that is exactly one placeholder", () => {
    const source = {
      server: { port: "${PORT:-0}" },
      resources: { a: { backend: "x", enabled: "${ON}", thread: "${NOT_SET_EITHER:-true}" } },
      limits: { result_bytes: "${BYTES}" },
    };
    const config = parse(source, { ON: "false", BYTES: "1024" });
    expect(config.server.port).toBe(0);
    expect(config.resources["a"]).toMatchObject({ enabled: false, thread: true });
    expect(config.limits.result_bytes).toBe(1024);
  });

  it("keeps the text where the schema wants text, and refuses text that only holds a number", () => {
    expect(parse({ server: { title: "${N}" } }, { N: "8080" }).server.title).toBe("8080");
    expect(() => parse({ server: { port: "8080" } })).toThrow(/^t\.json: server\.port: /);
    expect(() => parse({ server: { port: "${N}" } }, { N: "many" })).toThrow(/^t\.json: server\.port: /);
  });

  it.each([
    [{ sever: {} }, 't.json: sever: unknown key (did you mean "server"?)'],
    [{ server: { hots: "x" } }, 't.json: server.hots: unknown key (did you mean "host"?)'],
    [{ limits: { call_timeout: 5 } }, 't.json: limits.call_timeout: unknown key (did you mean "call_timeout_ms"?)'],
    [
      { resources: { a: { backend: "x", treads: true } } },
      't.json: resources.a.treads: unknown key (did you mean "thread"?)',
    ],
    [{ resources: { a: { backend: "x", conf: {} } } }, "t.json: resources.a.conf: unknown key"],
    [{ resources: { "a b": {} } }, "t.json: resources.a b: a resource is named with"],
    [{ resources: { a: { backend: "x", backend_class: "y" } } }, "t.json: resources.a.backend_class: it says the same"],
    [{ security: { auth: { enable: true } } }, 't.json: security.auth.enable: unknown key (did you mean "enabled"?)'],
    [{ security: { auth: { api_key: "short" } } }, "t.json: security.auth.api_key: it must have 16"],
    [{ security: { auth: { type: "jwt" } } }, "t.json: security.auth.type"],
    [{ security: { rate_limit: { burst: 0 } } }, "t.json: security.rate_limit.burst"],
    [
      { security: { allowed_origins: ["*"], cors: { credentials: true } } },
      't.json: security.cors.credentials: credentials are never allowed to every origin: list origins in place of "*"',
    ],
    [{ warmup: { resources: ["a"] } }, 't.json: warmup.resources: there is no resource "a"'],
    [
      { limits: { session_ttl_ms: 90_000_000 } },
      "t.json: limits.session_ttl_ms: 90000000 is above limits.max_session_ttl_ms",
    ],
    [{ runtimes: { order: ["podman"] } }, "t.json: runtimes.order[0]: Invalid option"],
    [{ runtimes: { quickjs: { limits: { memory: 1 } } } }, "t.json: runtimes.quickjs.limits.memory: unknown key"],
    [{ server: { log_level: "loud" } }, "t.json: server.log_level: "],
    [[], "t.json: Invalid input: expected object"],
  ])("names file and key of %j", (config, message) => {
    expect(() => parse(config)).toThrow(message);
  });

  it("never shows a value that may be a secret", () => {
    expect(() => parse({ server: { port: "hunter2" } })).toThrow(/^(?!.*hunter2)/s);
  });

  it("cannot be made to pollute a prototype", () => {
    expect(() => parse('{"resources": {"__proto__": {"backend": "x"}}}')).toThrow(ConfigError);
    expect(Object.prototype).not.toHaveProperty("backend");
  });

  it("returns a config or throws a ConfigError, whatever the text", () => {
    const keys = ["server", "port", "resources", "apis", "limits", "enabled", "backend", "config", "_x", "${A}"];
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(0, -1, 1e9, "", "x", "${A}", "${B:-1}", "${C}", true, false, null),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...keys), tie("value"), { maxKeys: 4 }),
      ),
    })).value;
    fc.assert(
      fc.property(value, (config) => {
        try {
          parse(JSON.stringify(config), { A: "1" });
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigError);
          expect(String(error)).toMatch(/^ConfigError: t\.json: /);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe("loadConfig", () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "toolyard-config-"));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  it("says where the file lies", async () => {
    const path = join(dir, "c.json");
    await writeFile(path, "{}");
    expect(await loadConfig(path, {})).toMatchObject({ dir, path });
  });

  it("names a file that is not there", async () => {
    await expect(loadConfig(join(dir, "none.json"), {})).rejects.toThrow(
      /none\.json: it cannot be read \(no such file\)/,
    );
  });
});
