import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = join(root, "node_modules/.cache/toolyard-build");

/**
 * Builds what the tests of the CLI run, once for all of them, so that none meets yesterday's build.
 *
 * The CLI's process starts from the build in half the time that it needs from the sources.
 */
export default function setup(): void {
  const wanted = fingerprint();
  if (existsSync(join(root, "dist/cli.js")) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "scripts/build.js")], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`the build failed: ${stdout}${stderr}`);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, wanted);
}

/** Of all that a build is made from. */
function fingerprint(): string {
  const hash = createHash("sha256");
  for (const file of globSync(["src/**/*.*", "scripts/build.js", "tsconfig*.json"], { cwd: root }).toSorted()) {
    const { mtimeMs, size } = statSync(join(root, file));
    hash.update(`${file} ${mtimeMs} ${size}\n`);
  }
  return hash.digest("hex");
}
