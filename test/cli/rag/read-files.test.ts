import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { readFiles } from "../../../src/cli/rag/read-files.ts";

/** A folder with these files. */
async function folderOf(...files: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toolyard-read-files-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const file of files) {
    await mkdir(join(folder, file, ".."), { recursive: true });
    await writeFile(join(folder, file), `This is ${file}.\n`);
  }
  return folder;
}

async function idsOf(paths: readonly string[], root?: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id, source } of readFiles(paths, root)) {
    expect(source).toBe(id);
    ids.push(id);
  }
  return ids;
}

it("names files by their paths from the folder that holds what was named", async () => {
  const folder = await folderOf("docs/a.md", "docs/deep/b.md", "docs/..c.md", "paper.txt");
  const expected = ["docs/..c.md", "docs/a.md", "docs/deep/b.md"];
  await expect(idsOf([join(folder, "docs")])).resolves.toEqual(expected);
  await expect(idsOf([`${relative(process.cwd(), folder)}/docs/`])).resolves.toEqual(expected);
  await expect(idsOf([join(folder, "paper.txt"), join(folder, "docs", "deep")])).resolves.toEqual([
    "paper.txt",
    "deep/b.md",
  ]);
});

it("reads a file once, also where a folder that holds it is named beside it", async () => {
  const folder = await folderOf("docs/a.md", "docs/deep/b.md");
  const paths = ["docs/deep", "docs", "docs/a.md", "docs"].map((path) => join(folder, path));
  await expect(idsOf(paths)).resolves.toEqual(["docs/a.md", "docs/deep/b.md"]);
});

it("refuses two files of one id, which a root above both tells apart", async () => {
  const folder = await folderOf("one/docs/a.md", "two/docs/a.md");
  const paths = [join(folder, "one", "docs"), join(folder, "two", "docs")];
  await expect(idsOf(paths)).rejects.toThrow("would both have the id docs/a.md");
  await expect(idsOf(paths, folder)).resolves.toEqual(["one/docs/a.md", "two/docs/a.md"]);
  await expect(idsOf(paths, join(folder, "one"))).rejects.toThrow("is not below");
});

it("takes the root of the file system and refuses what is not there", async () => {
  const folder = await folderOf("a.md");
  await expect(idsOf([folder], "/")).resolves.toEqual([relative("/", join(folder, "a.md"))]);
  await expect(idsOf([join(folder, "gone.md")])).rejects.toThrow("there is no file");
});
