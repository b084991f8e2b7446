import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** From a file, an import: whether the linter must refuse it. */
const CASES: readonly (readonly [file: string, line: string, refused: boolean])[] = [
  ["src/core/a.ts", 'import "../engine/b.ts";', true],
  ["src/core/a.ts", 'import "../main.ts";', true],
  ["src/core/a.ts", 'import "./b.ts";', false],
  ["src/engine/a.ts", 'import "../core/b.ts";', false],
  ["src/engine/a.ts", 'import "../server/b.ts";', true],
  ["src/engine/a.ts", 'import type { B } from "../backends/code/b.ts";', true],
  ["src/server/a.ts", 'import "../engine/b.ts";', false],
  ["src/server/a.ts", 'import "../runtimes/b.ts";', true],
  ["src/server/routes/a.ts", 'import "../../config/schema.ts";', true],
  ["src/backends/code/a.ts", 'import "../../core/b.ts";', false],
  ["src/backends/code/a.ts", 'import "../../engine/b.ts";', true],
  ["src/backends/code/a.ts", 'import "../../runtimes/b.ts";', true],
  ["src/backends/code/a.ts", 'import "../vm/b.ts";', true],
  ["src/backends/code/a.ts", 'import "./b.ts";', false],
  ["src/backends/code/deep/a.ts", 'import "../b.ts";', false],
  ["src/backends/code/deep/a.ts", 'import "../../vm/b.ts";', true],
  ["src/backends/code/deep/a.ts", 'import "../../../core/b.ts";', false],
  ["src/backends/code/deep/a.ts", 'import "../../../engine/b.ts";', true],
  ["src/query/a.ts", 'import "../core/b.ts";', false],
  ["src/query/a.ts", 'import "../backends/text2sql/b.ts";', true],
  ["src/backends/code/a.ts", 'import "../../query/b.ts";', false],
  ["src/backends/code/a.ts", 'import "../../documents/b.ts";', false],
  ["src/documents/a.ts", 'import "../core/b.ts";', false],
  ["src/documents/a.ts", 'import "../backends/rag/b.ts";', true],
  ["src/engine/a.ts", 'import "../documents/b.ts";', true],
  ["src/runtimes/local/a.ts", 'import "../kernel/b.ts";', false],
  ["src/runtimes/local/a.ts", 'import "../../core/b.ts";', false],
  ["src/runtimes/local/a.ts", 'import "../../backends/code/b.ts";', true],
  ["src/client/a.ts", 'import "../core/b.ts";', false],
  ["src/client/a.ts", 'import type { B } from "../backends/code/b.ts";', false],
  ["src/client/a.ts", 'import { B } from "../backends/code/b.ts"; void B;', true],
  ["src/client/a.ts", 'import "../engine/b.ts";', true],
  ["src/config/a.ts", 'import "../core/b.ts";', false],
  ["src/config/a.ts", 'import "../engine/limits.ts";', false],
  ["src/config/a.ts", 'import "../engine/near-names.ts";', false],
  ["src/config/a.ts", 'import "../server/http-limits.ts";', false],
  ["src/config/a.ts", 'import "../engine/router.ts";', true],
  ["src/config/a.ts", 'import "../server/app.ts";', true],
  ["src/config/a.ts", 'import "../plugins/b.ts";', true],
  ["src/agent/a.ts", 'import "../engine/b.ts";', true],
  ["src/agent/a.ts", 'import "../llm/b.ts";', false],
  ["src/mcp/a.ts", 'import "../engine/b.ts";', false],
  ["src/tasks/a.ts", 'import "../server/b.ts";', true],
  ["src/log/a.ts", 'import "../engine/b.ts";', true],
  ["src/plugins/a.ts", 'import "../backends/code/b.ts";', false],
  ["src/cli/a.ts", 'import "../main.ts";', false],
  ["src/main.ts", 'import "./engine/b.ts";', false],
];

const root = fileURLToPath(new URL("../..", import.meta.url));
const manifest = createRequire(import.meta.url).resolve("oxlint/package.json");
let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "toolyard-lint-"));
  cpSync(join(root, ".oxlintrc.json"), join(dir, ".oxlintrc.json"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Lints files by path, and gives the rules that refused each. */
function lint(files: Readonly<Record<string, string>>): Readonly<Record<string, readonly string[]>> {
  rmSync(join(dir, "src"), { recursive: true, force: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  const oxlint = join(dirname(manifest), "bin", "oxlint");
  const { stdout } = spawnSync(process.execPath, [oxlint, "-f", "json"], { cwd: dir, encoding: "utf8" });
  const report: { readonly diagnostics: readonly { readonly filename: string; readonly code: string }[] } =
    JSON.parse(stdout);
  const rules: Record<string, string[]> = {};
  for (const { filename, code } of report.diagnostics) (rules[filename] ??= []).push(code);
  return rules;
}

describe("the linter", () => {
  it("refuses every import that crosses a layer the wrong way, and no other", () => {
    // One folder level is kept, so that the case's number makes its file its own.
    const files = CASES.map(([file, line], index) => [file.replace(/a\.ts$/, `a${index}.ts`), `${line}\n`] as const);
    const verdicts = lint(Object.fromEntries(files));
    const found = CASES.map(([file, line], index) => {
      const rules = verdicts[files[index]?.[0] ?? ""] ?? [];
      return [file, line, rules.some((rule) => rule.includes("no-restricted-imports"))];
    });
    expect(found).toEqual(CASES);
  });

  it.each([
    ["import(no-cycle)", { "src/core/a.ts": 'import "./b.ts";\n', "src/core/b.ts": 'import "./a.ts";\n' }],
    ["no-explicit-any", { "src/core/a.ts": "export const a = (b: any): unknown => b;\n" }],
    ["no-non-null-assertion", { "src/core/a.ts": "export const a = (b?: string): string => b!;\n" }],
    ["max-lines", { "src/core/a.ts": "export {};\n".repeat(301) }],
    ["filename-case", { "src/core/someName.ts": "export {};\n" }],
  ])("enforces %s", (rule, files) => {
    expect(Object.values(lint(files)).flat().join(" ")).toContain(rule);
  });
});
