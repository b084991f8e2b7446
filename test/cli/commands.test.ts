import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliProcess, runCli, serveFixtures } from "./cli-process.ts";

let server: CliProcess & { readonly url: string };
beforeAll(async () => {
  server = await serveFixtures();
});
afterAll(async () => {
  server.child.kill("SIGTERM");
  await server.ended;
});

const cli = (...args: string[]) => runCli([...args, "--url", server.url]);

describe("toolyard exec", () => {
  it("prints the formatted result and ends with 0", async () => {
    expect(await cli("exec", "echo", '{"message":"hello"}')).toEqual({ code: 0, stdout: "hello\n", stderr: "" });
  });

  it("reads -p values as JSON where they are JSON, else as text", async () => {
    const { stdout } = await cli("exec", "kv:set", "-p", "key=a=b", "-p", 'value={"n":[1]}', "--json");
    expect(JSON.parse(stdout)).toMatchObject({ code: 0, data: { key: "a=b" } });
    const { stdout: sum } = await cli("exec", "counter:incr", "-p", "by=5", "--worker", "w9", "--json");
    expect(JSON.parse(sum)).toMatchObject({ data: { value: 5 }, meta: { session_id: expect.stringContaining("w9") } });
  });

  it("ends with 1 and says why when the tool fails, and prints the envelope with --json", async () => {
    const failed = await cli("exec", "boom");
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toContain("boom");
    // What to do next, and the error by its name.
    expect(failed.stderr).toMatch(/^\[Error\] .+\n[^(].+\n\(boom, unexpected_error, code \d+, trace \w+/);
    expect(failed.stderr).not.toMatch(/secret|sk-live/);
    const { code, stdout } = await cli("exec", "get", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ code: 4002, data: { candidates: ["counter:get", "kv:get"] } });
  });

  it("passes the timeout on, and a blocking plugin is ended by it", async () => {
    const { code, stdout } = await cli("exec", "block", "-p", "seconds=60", "--timeout", "0.3", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ code: 5006, meta: { outcome: "limit" } });
    expect(await cli("exec", "block", "-p", "seconds=0")).toMatchObject({ code: 0 });
  });

  it.each([
    [["exec"], "exec needs an action"],
    [["exec", "echo", "{oops"], "the params are not JSON"],
    [["exec", "echo", "[1]"], "the params are not a JSON object"],
    [["exec", "echo", "-p", "message"], "-p takes key=value"],
    [["exec", "echo", "--timeout", "soon"], "--timeout takes a number"],
  ])("refuses %j with one line", async (args, message) => {
    const { code, stderr } = await cli(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });
});

describe("toolyard tools", () => {
  it("lists names with their descriptions, and one tool with its schema", async () => {
    const { stdout } = await cli("tools");
    expect(stdout).toMatch(/^counter:incr +Add to the counter\.$/m);
    expect(JSON.parse((await cli("tools", "counter:incr")).stdout)).toMatchObject({
      full_name: "counter:incr",
      parameters: { properties: { by: { default: 1 } } },
    });
    expect(JSON.parse((await cli("tools", "--json")).stdout)).toMatchObject({ count: 13 });
  });

  it("ends with 1 for a tool that is not there", async () => {
    const { code, stderr } = await cli("tools", "ecco");
    expect(code).toBe(1);
    expect(stderr).toContain("ecco");
  });
});

describe("toolyard sessions", () => {
  it("lists the sessions of a worker", async () => {
    expect((await cli("sessions", "--worker", "nobody")).stdout).toBe("nobody has no sessions\n");
    const body = JSON.stringify({ worker_id: "s1", resource_type: "counter" });
    const headers = { "content-type": "application/json" };
    await fetch(`${server.url}/api/v1/session/create`, { method: "POST", headers, body });
    expect((await cli("sessions", "--worker", "s1")).stdout).toMatch(/^counter +counter_s1_001_\w+ +active/m);
    expect(JSON.parse((await cli("sessions", "--worker", "s1", "--json")).stdout)).toMatchObject({
      data: { count: 1 },
    });
  });
});

describe("toolyard", () => {
  it.each([
    [["serv"], 'unknown command serv (did you mean "serve"?)'],
    [["serve", "--prot", "1"], 'unknown flag --prot (did you mean "--port"?)'],
    [["serve", "--port", "70000"], "--port takes a number from 0 to 65535"],
    [["serve", "extra"], 'unexpected argument "extra"'],
    [["serve", "--log-level", "loud"], "--log-level takes"],
    [["init", "frontend", "x"], "init can scaffold a backend"],
    [["init", "backend", "../x"], "a backend needs a name"],
  ])("answers %j with one line and exit code 2", async (args, message) => {
    const { code, stdout, stderr } = await runCli(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  it("explains itself and each command, and says its version", async () => {
    const { stdout } = await runCli(["--help"]);
    for (const name of ["serve", "exec", "tools", "sessions", "doctor", "init"]) expect(stdout).toContain(`  ${name} `);
    expect((await runCli(["serve", "--help"])).stdout).toContain("--config F");
    expect((await runCli(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("says how to start a server when none answers", async () => {
    const { code, stderr } = await runCli(["tools", "--url", "http://127.0.0.1:1"]);
    expect(code).toBe(1);
    expect(stderr).toContain('start one with "toolyard serve"');
  });
});

describe("toolyard jobs", () => {
  it("lists jobs, and shows, awaits and cancels one", async () => {
    const start = async (action: string, params: object): Promise<string> => {
      const body = JSON.stringify({ worker_id: "jobber", action, params, async_mode: true });
      const answer = await fetch(`${server.url}/execute`, { method: "POST", body });
      return JSON.parse(await answer.text()).data.job_id;
    };
    const quick = await start("echo", { message: "hello" });
    const slow = await start("sleep", { seconds: 600 });
    const shown = await cli("jobs", quick, "--wait");
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringMatching(/completed[^]*\nhello\n$/) });
    const cancelled = await cli("jobs", slow, "--cancel", "--json");
    expect(cancelled.code).toBe(1);
    expect(JSON.parse(cancelled.stdout)).toMatchObject({ data: { state: "cancelled" } });
    const { stdout } = await cli("jobs", "--worker", "jobber");
    expect(stdout).toContain(quick);
    expect(stdout).toContain(slow);
    expect(await cli("jobs", "--worker", "nobody")).toMatchObject({ code: 0, stdout: "there are no jobs\n" });
  });

  it("says in one line that there is no such job, or that it needs one", async () => {
    expect(await cli("jobs", "job_0")).toMatchObject({ code: 1, stderr: "toolyard: There is no such job\n" });
    expect(await cli("jobs", "--wait")).toMatchObject({ code: 2, stderr: expect.stringContaining("need the ID") });
  });
});
