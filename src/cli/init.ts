import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { type Command, CommandError, parseFlags, UsageError } from "./command.ts";
import { backendFiles } from "./backend-template.ts";
import { installCommand } from "./missing-packages.ts";

const NAME = /^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/;

/** Scaffolds what a user starts from. */
export const init: Command = {
  help: `Usage: toolyard init backend NAME [flags]

Writes backends/NAME.ts, backends/NAME.test.ts and configs/NAME.json, which work at once where toolyard, tsx, vitest and zod are
installed; says how to install what is not. Overwrites nothing.

  --dir D       where (the current folder)
  --json        print what was written as JSON`,

  async run(args, terminal) {
    const { values, positionals } = parseFlags(args, { dir: { type: "string" }, json: { type: "boolean" } }, 2);
    const [kind, name] = positionals;
    if (kind !== "backend") throw new UsageError(`init can scaffold a backend: toolyard init backend NAME`);
    if (name === undefined || name.length > 64 || !NAME.test(name)) {
      throw new UsageError(`a backend needs a name of lower-case letters, digits, - and _, such as "notes"`);
    }
    const root = resolve(values.dir ?? ".");
    const files = backendFiles(name, { vitest: usesVitest(root) });
    const present = Object.keys(files).filter((path) => existsSync(join(root, path)));
    if (present.length > 0) throw new CommandError(`${present.join(", ")} exists already; nothing was written`);
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text, { flag: "wx" });
    }
    const paths = Object.keys(files).map((path) => relative(process.cwd(), join(root, path)) || path);
    const [, test = "", config = ""] = paths;
    const testCommand = usesVitest(root) ? `npx vitest run ${test}` : `node --import tsx --test ${test}`;
    const install = installCommand(root);
    if (values.json) terminal.print(JSON.stringify({ written: paths, install, test: testCommand }));
    else {
      terminal.print(`wrote ${paths.join(", ")}${install === undefined ? "" : `\ninstall first: ${install}`}
test it:  ${testCommand}
serve it: npx toolyard serve --config ${config}`);
    }
    return 0;
  },
};

/** Whether the package that the folder belongs to tests with vitest; Node's own runner serves otherwise. */
function usesVitest(start: string): boolean {
  for (let folder = start; ; folder = dirname(folder)) {
    const manifest = join(folder, "package.json");
    if (existsSync(manifest)) return readFileSync(manifest, "utf8").includes('"vitest"');
    if (folder === dirname(folder)) return false;
  }
}
