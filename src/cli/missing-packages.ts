import { existsSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** What the files of a new backend import, and what runs them. */
const NEEDED = ["toolyard", "tsx", "vitest", "zod"] as const;

/** The command that installs what a scaffolded backend needs and the folder cannot import; `undefined` when it has all. */
export function installCommand(folder: string): string | undefined {
  const missing = NEEDED.filter((name) => !isInstalled(name, folder));
  if (missing.length === 0) return undefined;
  const names = missing.map((name) => (name === "toolyard" ? installableSelf() : name));
  return `npm install --save-dev ${names.join(" ")}`;
}

/** As Node looks a package up: in the node_modules of every folder above, and a package finds itself. */
function isInstalled(name: string, start: string): boolean {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "node_modules", name, "package.json")) || nameOf(folder) === name) return true;
    if (folder === dirname(folder)) return false;
  }
}

function nameOf(folder: string): unknown {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return typeof manifest === "object" && manifest !== null && "name" in manifest ? manifest.name : undefined;
  } catch {
    return undefined;
  }
}

/** The package's name where it was installed by it; a checkout is installed from its folder. */
function installableSelf(): string {
  const own = fileURLToPath(new URL("../..", import.meta.url)).replace(/[/\\]$/, "");
  if (own.split(sep).includes("node_modules")) return "toolyard";
  return /\s/.test(own) ? JSON.stringify(own) : own;
}
