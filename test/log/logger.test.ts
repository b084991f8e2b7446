import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Logger } from "../../src/core/context.ts";
import { createLogger } from "../../src/log/logger.ts";

function record(write: (logger: Logger) => void, level: "debug" | "info" | "silent" = "info"): unknown[] {
  const lines: unknown[] = [];
  write(createLogger({ level, destination: { write: (line) => void lines.push(JSON.parse(line)) } }));
  return lines;
}

describe("createLogger", () => {
  it("writes one line of JSON per event, with its level and UTC time", () => {
    const [line] = record((logger) => logger.child({ resource: "vm" }).info({ ms: 3 }, "call completed"));
    expect(line).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      resource: "vm",
      ms: 3,
      msg: "call completed",
    });
  });

  it("leaves out what is below its level", () => {
    expect(record((logger) => logger.debug({}, "quiet"))).toEqual([]);
    expect(record((logger) => logger.error({}, "quiet"), "silent")).toEqual([]);
  });

  it("never writes the values of keys that name secrets, at any depth", () => {
    const headers = { Authorization: "Bearer a1", "X-Api-Key": "b2", accept: "c3" };
    const facts = { headers, config: { openai_api_key: "d4", list: [{ password: "e5" }] }, max_tokens: 5 };
    const [line] = record((logger) => logger.child({ api_key: "f6" }).info(facts, "m"));
    expect(JSON.stringify(line)).not.toMatch(/a1|b2|d4|e5|f6/);
    expect(line).toMatchObject({ headers: { accept: "c3" }, max_tokens: 5 });
    expect(headers.Authorization).toBe("Bearer a1");
  });

  it("writes errors with their stack and cause", () => {
    const err = new Error("outer", { cause: new Error("inner") });
    const [line] = record((logger) => logger.error({ err }, "failed"));
    expect(line).toMatchObject({ err: { message: expect.stringContaining("inner"), stack: expect.any(String) } });
  });

  it("bears facts that refer to themselves", () => {
    const facts: Record<string, unknown> = { a: 1 };
    facts["self"] = facts;
    expect(record((logger) => logger.info(facts, "m"))).toHaveLength(1);
  });

  it("writes everything out when the process exits", () => {
    const module = new URL("../../src/log/logger.ts", import.meta.url).href;
    const script = `
      const { createLogger } = await import(${JSON.stringify(module)});
      const logger = createLogger({ level: "info" });
      for (let i = 0; i < 100; i++) logger.info({ i }, "line");
      process.exit(0);`;
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const args = ["--import", "tsx", "--input-type=module", "-e", script];
    const { stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    expect(
      stderr
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).i),
    ).toEqual([...Array(100).keys()]);
  });
});

describe("the line of a call", () => {
  it("is JSON like any other line, and obeys the level", () => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const call = { tool: "echo", worker_id: 'w "1"\n', session_id: null, ms: 0.5, error: undefined };
    createLogger({ level: "info", destination }).call?.(call);
    createLogger({ level: "warn", destination }).call?.(call);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      msg: "call",
      tool: "echo",
      worker_id: 'w "1"\n',
      session_id: null,
      ms: 0.5,
    });
    expect(lines[0]?.endsWith("}\n")).toBe(true);
  });
});
