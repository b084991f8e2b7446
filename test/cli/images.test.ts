import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CommandError, UsageError } from "../../src/cli/command.ts";
import { images as command, toRequest } from "../../src/cli/images.ts";
import { IMAGE_LABELS } from "../../src/cli/images/build.ts";
import { readRecipes } from "../../src/cli/images/recipe.ts";
import { type CliProcess, type CliResult, startCli } from "./cli-process.ts";
import { type FakeEngine, startFakeEngine } from "./images/fake-engine.ts";

let engine: FakeEngine;
let folder: string;
beforeEach(async () => {
  engine = await startFakeEngine();
  folder = await mkdtemp(join(tmpdir(), "toolyard-images-"));
});
afterEach(async () => {
  await engine.close();
  await rm(folder, { recursive: true, force: true });
});

/** The command in this process, which has dockerode loaded already. */
async function images(args: readonly string[], env: Record<string, string> = {}): Promise<CliResult> {
  for (const [name, value] of Object.entries({ ...engine.environment, ...env })) vi.stubEnv(name, value);
  const written = { stdout: "", stderr: "" };
  const terminal = {
    print: (line: string) => void (written.stdout += `${line}\n`),
    warn: (line: string) => void (written.stderr += `${line}\n`),
    environment: process.env,
  };
  try {
    const code = await command.run(args, terminal);
    return { code, ...written };
  } catch (error) {
    if (!(error instanceof CommandError || error instanceof UsageError)) throw error;
    return { code: error instanceof UsageError ? 2 : 1, ...written, stderr: `${written.stderr}${error.message}\n` };
  } finally {
    vi.unstubAllEnvs();
  }
}

/** Sends SIGINT, once, when the process writes what it waits for. */
function interruptAt(cli: CliProcess, text: string): void {
  const look = (): void => {
    if (!cli.stderr().includes(text)) return;
    cli.child.stderr?.off("data", look);
    cli.child.kill("SIGINT");
  };
  cli.child.stderr?.on("data", look);
}

/** Without the machine's own mmdebstrap, and with another in its place where a script is given. */
async function pathWith(script?: string): Promise<string> {
  const bin = join(folder, "bin");
  await mkdir(bin);
  if (script !== undefined) {
    await writeFile(join(bin, "mmdebstrap"), script);
    await chmod(join(bin, "mmdebstrap"), 0o755);
  }
  return `${bin}:${dirname(process.execPath)}`;
}

const slimVersion = async (): Promise<string> =>
  (await readRecipes()).find(({ name }) => name === "code-slim")?.version([]) ?? "";

describe("toolyard images build", () => {
  it("builds on the public base, tags the version and the latest, and shows how far it is", async () => {
    engine.pull = { status: 200, lines: [{ status: "Status: Downloaded newer image" }] };
    const { code, stdout, stderr } = await images(["build", "code-slim"]);
    const version = await slimVersion();
    expect(stderr).toContain("code-slim  pulling debian:bookworm-slim\n");
    expect(stderr).toContain("code-slim  step 2/2: RUN apt-get update\n");
    expect(stdout).toBe("toolyard/code-slim:latest\n");
    expect(code).toBe(0);
    expect([...engine.images.keys()]).toEqual([
      "debian:bookworm-slim",
      `toolyard/code-slim:${version}`,
      "toolyard/code-slim:latest",
    ]);
    const build = engine.requests.find(({ path }) => path === "/build");
    expect(JSON.parse(build?.query["buildargs"] ?? "")).toEqual({ BASE: "debian:bookworm-slim" });
    expect(build?.query["version"]).toBe("1");
    expect(engine.images.get("toolyard/code-slim:latest")?.labels).toEqual({
      [IMAGE_LABELS.name]: "code-slim",
      [IMAGE_LABELS.version]: version,
      [IMAGE_LABELS.base]: "debian:bookworm-slim",
    });
  });

  it("does nothing when the image is there, unless it is of other files, of another base, or forced", async () => {
    const labels = { [IMAGE_LABELS.version]: await slimVersion(), [IMAGE_LABELS.base]: "debian:bookworm-slim" };
    engine.images.set("toolyard/code-slim:latest", { labels });
    engine.images.set("debian:bookworm-slim", { labels: {} }).set("mine:latest", { labels: {} });
    const builds = () => engine.requests.filter(({ path }) => path === "/build").length;
    const { stdout, stderr } = await images(["build", "code-slim", "--json"]);
    expect(stderr).toContain("is up to date");
    expect(JSON.parse(stdout).images).toMatchObject([{ name: "code-slim", unchanged: true }]);
    expect(builds()).toBe(0);
    await images(["build", "code-slim", "--base", "mine"]);
    expect(builds()).toBe(1);
    expect((await images(["build", "code-slim", "--base", "mine"])).stderr).toContain("is up to date");
    await images(["build", "code-slim", "--force"]);
    expect(builds()).toBe(2);
    expect(engine.requests.findLast(({ path }) => path === "/build")?.query["nocache"]).toMatch(/^(true|1)$/);
    await images(["build", "code-slim", "--packages", "jq,git", "--packages", "jq"]);
    expect(builds()).toBe(3);
    const last = engine.requests.findLast(({ path }) => path === "/build");
    expect(JSON.parse(last?.query["buildargs"] ?? "").PACKAGES).toBe("git jq");
  });

  it("shows the end of what a failing step printed, and ends with 1", async () => {
    engine.images.set("debian:bookworm-slim", { labels: {} });
    engine.build = (response) => {
      response.write('{"stream":"Step 1/1 : RUN apt-get update"}\r\n{"stream":"Err:1 no route to host\\n"}\r\n');
      response.write('{"error":"The command returned a non-zero code: 100"}\r\n');
    };
    const { code, stderr } = await images(["build", "code-slim"]);
    expect(code).toBe(1);
    expect(stderr).toContain("code-slim    Err:1 no route to host\n");
    expect(stderr).toContain("code-slim was not built: The command returned a non-zero code: 100\n");
    expect(engine.images.has("toolyard/code-slim:latest")).toBe(false);
  });

  it("does not take an answer that breaks off for success", async () => {
    engine.images.set("debian:bookworm-slim", { labels: {} });
    engine.build = (response) => void response.write('{"stream":"Step 1/2 : FROM x"}\r\n');
    const { code, stderr } = await images(["build", "code-slim"]);
    expect(code).toBe(1);
    expect(stderr).toContain("the engine broke off");
    expect(engine.images.has("toolyard/code-slim:latest")).toBe(false);
  });

  it("is cancelled by SIGINT: the engine sees its client go, and the exit code is 130", async () => {
    engine.images.set("debian:bookworm-slim", { labels: {} });
    const gone = Promise.withResolvers<void>();
    engine.build = async (response) => {
      response.write('{"stream":"Step 1/2 : RUN sleep 1000"}\r\n');
      await once(response, "close");
      gone.resolve();
    };
    const cli = startCli(["images", "build", "code-slim"], { env: engine.environment });
    interruptAt(cli, "sleep 1000");
    await gone.promise;
    expect(await cli.ended).toBe(130);
    expect(cli.stderr()).toContain("cancelled");
  });

  it("says what to do without an engine, without a registry, and for what is no image or package", async () => {
    const none = await images(["build"], { DOCKER_HOST: `unix://${folder}/none.sock` });
    expect(none.code).toBe(1);
    expect(none.stderr).toMatch(/nothing listens at .*none\.sock; install and start one .*apt-get install docker\.io/);
    const noBase = await images(["build", "code-slim"], { PATH: await pathWith() });
    expect(noBase.code).toBe(1);
    expect(noBase.stderr).toMatch(/no such host.*\n.*apt-get install mmdebstrap.*--base/);
    const unknown = await images(["build", "code-slum"]);
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('there is no image code-slum (did you mean "code-slim"?)');
    expect((await images(["build", "code", "--base", "toolyard/none"])).stderr).toContain("it is not built yet");
    expect((await images(["list", "--force"])).code).toBe(2);
  });
});

describe("a base without a registry", () => {
  it("is made by mmdebstrap, imported and built on, and made once", async () => {
    const script = "#!/bin/sh\necho 'I: extracting archives...' >&2\nprintf archive\n";
    const PATH = await pathWith(script);
    const { code, stderr } = await images(["build", "code-slim"], { PATH });
    expect(stderr).toContain("code-slim  extracting archives...\n");
    expect(code).toBe(0);
    expect(engine.requests.find(({ query }) => query["fromSrc"] === "-")).toMatchObject({
      bodyBytes: 7,
      complete: true,
    });
    const build = engine.requests.find(({ path }) => path === "/build");
    expect(JSON.parse(build?.query["buildargs"] ?? "")).toEqual({ BASE: "toolyard/base:bookworm" });
    await images(["build", "code", "--bootstrap"], { PATH });
    expect(engine.requests.filter(({ query }) => query["fromSrc"] === "-")).toHaveLength(1);
  });

  it("is not imported by halves when mmdebstrap fails", async () => {
    const script = "#!/bin/sh\nprintf half\necho 'E: no space left' >&2\nexit 25\n";
    const { code, stderr } = await images(["build", "code-slim", "--bootstrap"], { PATH: await pathWith(script) });
    expect(code).toBe(1);
    expect(stderr).toContain("code-slim    E: no space left\n");
    expect(stderr).toContain("no base image: mmdebstrap ended with 25");
    expect(engine.requests.filter(({ complete }) => complete)).toEqual([]);
    expect(engine.images.size).toBe(0);
  });

  it("lets mmdebstrap clean up when it is cancelled", async () => {
    // It ends only by the signal that it is meant to get.
    const script = `#!${process.execPath}
process.on("SIGTERM", () => { console.error("I: cleaned up"); process.exit(1); });
setInterval(() => {}, 1000);
console.error("I: extracting");`;
    const env = { ...engine.environment, PATH: await pathWith(script) };
    const cli = startCli(["images", "build", "code-slim", "--bootstrap"], { env });
    interruptAt(cli, "extracting");
    expect(await cli.ended).toBe(130);
    expect(cli.stderr()).toContain("cleaned up");
    expect(cli.stderr()).not.toContain("left behind");
    expect(engine.requests.filter(({ complete }) => complete)).toEqual([]);
  });
});

describe("toolyard images list", () => {
  it("says which images are there, which are of other files, and how to build them", async () => {
    engine.images.set("toolyard/code-slim:latest", {
      labels: { [IMAGE_LABELS.version]: await slimVersion(), [IMAGE_LABELS.base]: "debian:bookworm-slim" },
    });
    const socket = engine.environment.DOCKER_HOST.slice("unix://".length);
    const first = await images(["list", "--socket", socket], { DOCKER_HOST: "" });
    expect(first.stdout).toMatch(/^toolyard\/code:latest +missing$/m);
    expect(first.stdout).toMatch(
      /^toolyard\/code-slim:latest +built +260 MB .*debian:bookworm-slim +2026-11-22T02:00:00/m,
    );
    expect(first.stderr).toContain("toolyard images build code desktop\n");
    engine.images.set("toolyard/code:latest", { labels: { [IMAGE_LABELS.version]: "0123456789ab" } });
    const { images: entries } = JSON.parse((await images(["list", "--json"])).stdout);
    expect(entries).toMatchObject([
      { name: "code", state: "outdated" },
      { name: "code-slim", state: "built", size_bytes: 260_400_000 },
      { name: "desktop", state: "missing" },
    ]);
  });
});

describe("what a build is asked for", () => {
  it.each(["$(reboot)", "a;b", "-o=x", "A", "x y|z", "jq\nRUN"])(
    "lets nothing but packages into a build's shell: %j",
    (name) => {
      expect(() => toRequest({ packages: [name] })).toThrow(/--packages takes Debian packages/);
    },
  );

  it("takes one base only, and that an image", () => {
    expect(() => toRequest({ base: "a", bootstrap: true })).toThrow(/exclude each other/);
    expect(() => toRequest({ base: "-v" })).toThrow(/takes an image/);
    expect(toRequest({ base: "host:5000/a/b:1" }).base.image).toBe("host:5000/a/b:1");
  });
});
