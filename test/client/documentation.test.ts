import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const entry = new URL("dist/index.js", root).href;

/** Writes a page's snippets as modules and a program that runs them one after another on one server of the build. */
function writeProgram(page: string, folder: string): string {
  const text = readFileSync(new URL(page, root), "utf8").replaceAll('"toolyard"', JSON.stringify(entry));
  const snippets = [...text.matchAll(/```ts\n(.*?)```/gs)].flatMap((match) => match[1] ?? []);
  const names = snippets.map((snippet, index) => {
    const file = join(folder, `snippet-${index}.mts`);
    writeFileSync(file, snippet);
    return file;
  });
  const program = join(folder, "program.mts");
  const imports = names.map((name) => `await import(${JSON.stringify(name)});`);
  const shared = `import { Sandbox } from ${JSON.stringify(entry)};\nawait using shared = await Sandbox.open();`;
  writeFileSync(program, [shared, ...imports].join("\n"));
  return program;
}

const PAGES = {
  "docs/client.md": ["[ 1, 4, 9 ]", "session_not_found 404 false", "\n42\n", "\n8\n", "hi\n42", "It ran: {"],
  "docs/events.md": ["streamed\n42\ncode:run ok\n"],
};

test.each(Object.entries(PAGES))(
  "the snippets of %s run and print what they say",
  { timeout: 240_000 },
  async (page, expected) => {
    const folder = mkdtempSync(join(tmpdir(), "toolyard-docs-"));
    try {
      const program = writeProgram(page, folder);
      const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", program], {
        cwd: fileURLToPath(root),
      });
      for (const text of expected) expect(stdout).toContain(text);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
