import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { root, runCli } from "./cli-process.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "toolyard-init-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Installs packages in the folder above the one that is scaffolded in, as a workspace does. */
async function install(...names: readonly string[]): Promise<void> {
  const modules = join(dir, "node_modules");
  await mkdir(modules);
  for (const name of names) {
    // oxlint-disable-next-line no-await-in-loop
    await symlink(name === "toolyard" ? root : join(root, "node_modules", name), join(modules, name));
  }
}

const init = (...flags: string[]) => runCli(["init", "backend", "notes", "--dir", join(dir, "app"), ...flags]);

describe("toolyard init backend", () => {
  it("says first what to install in a folder that has nothing yet", async () => {
    const { code, stdout } = await init();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^wrote .*\ninstall first: npm install --save-dev \S+ tsx vitest zod\ntest it: /);
  });

  it("names the checkout that it runs from, which no registry has", async () => {
    const { stdout } = await init("--json");
    const checkout = root.replace(/\/$/, "");
    expect(JSON.parse(stdout)).toMatchObject({ install: `npm install --save-dev ${checkout} tsx vitest zod` });
  });

  it("names only what is missing", async () => {
    await install("toolyard", "zod", "vitest");
    expect((await init()).stdout).toContain("install first: npm install --save-dev tsx\n");
  });

  it("does not speak of installing where everything is there", async () => {
    await install("toolyard", "tsx", "vitest", "zod");
    expect((await init()).stdout).not.toContain("install");
  });

  it("takes the package that the folder belongs to as installed", async () => {
    await install("tsx", "vitest", "zod");
    await writeFile(join(dir, "package.json"), '{"name": "toolyard"}');
    expect((await init("--json")).stdout).not.toContain("npm install");
  });
});
