import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { IMAGES_FOLDER, readRecipes } from "../../../src/cli/images/recipe.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolyard-recipes-"));
  await cp(IMAGES_FOLDER, folder, { recursive: true });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function versionOf(name: string, packages: readonly string[] = []): Promise<string | undefined> {
  return (await readRecipes(folder)).find((recipe) => recipe.name === name)?.version(packages);
}

describe("image recipes", () => {
  it("are the folders that have a Dockerfile", async () => {
    await mkdir(join(folder, "notes"));
    expect((await readRecipes(folder)).map(({ name }) => name)).toEqual(["code", "code-slim", "desktop"]);
  });

  it("have the same version wherever they lie, and another for any change", async () => {
    const before = await versionOf("code-slim");
    const [own] = (await readRecipes()).filter(({ name }) => name === "code-slim");
    expect(own?.version([])).toBe(before);
    const seen = new Set([before, await versionOf("code"), await versionOf("code-slim", ["jq"])]);
    await writeFile(join(folder, "code-slim", "extra"), "a");
    seen.add(await versionOf("code-slim"));
    await writeFile(join(folder, "code-slim", "extra"), "b");
    seen.add(await versionOf("code-slim"));
    await mkdir(join(folder, "code-slim", "deep"));
    await writeFile(join(folder, "code-slim", "deep", "extra"), "b");
    seen.add(await versionOf("code-slim"));
    expect(seen.size).toBe(6);
  });

  it("tell a file's name from its content", async () => {
    await writeFile(join(folder, "code-slim", "ab"), "c");
    const one = await versionOf("code-slim");
    await rm(join(folder, "code-slim", "ab"));
    await writeFile(join(folder, "code-slim", "a"), "bc");
    expect(await versionOf("code-slim")).not.toBe(one);
  });
});
