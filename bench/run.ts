// Runs every benchmark, or those named: `npm run bench -- dispatch`. Each prints Markdown tables for docs/benchmarks.md.
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { cpus, loadavg } from "node:os";

const benches = readdirSync(import.meta.dirname)
  .filter(
    (file) =>
      file.endsWith(".ts") && readFileSync(`${import.meta.dirname}/${file}`, "utf8").startsWith("// Benchmark:"),
  )
  .map((file) => file.slice(0, -".ts".length));
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !benches.includes(name));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(", ")}; there are ${benches.join(", ")}.`);
  process.exit(2);
}

console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}`);
for (const name of wanted.length > 0 ? wanted : benches) {
  const { status } = spawnSync(process.execPath, [`${import.meta.dirname}/${name}.ts`], { stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}
