// Compiles src to dist and copies the files that tsc leaves behind (the Python and shell sources that run inside sandboxes).
import { execFileSync } from "node:child_process";
import { cpSync, globSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const tsc = fileURLToPath(import.meta.resolve("typescript/package.json")).replace(/package\.json$/, "bin/tsc");
try {
  execFileSync(process.execPath, [tsc, "-p", join(root, "tsconfig.build.json")], {
    cwd: root,
    stdio: "inherit",
  });
} catch {
  process.exit(1);
}

for (const file of globSync("src/**/*.{py,sh,mjs,html,css}", { cwd: root })) {
  const target = join(root, "dist", file.slice("src/".length));
  mkdirSync(dirname(target), { recursive: true });
  cpSync(join(root, file), target);
}
