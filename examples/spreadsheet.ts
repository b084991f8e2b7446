// Fills in a spreadsheet at a desktop by keys, without a model: the screen is saved after each step, and an evaluator looks whether the
// file that is left is right. Run it with `npx node examples/spreadsheet.ts`.
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "toolyard";
import { evaluator, ROWS, start } from "./spreadsheet-task.ts";

const folder = join(tmpdir(), "toolyard-spreadsheet");
await mkdir(folder, { recursive: true });
await using sandbox = await Sandbox.open({ timeoutMs: 120_000 });

let step = 0;
/** Saves the screen once it is quiet. */
async function show(what: string): Promise<void> {
  // A program that is busy may pause between two things that it draws.
  await sandbox.execute("vm:wait_for", { stable_screen: { quiet_ms: 500 } }).catch(() => undefined);
  const { screenshot } = await sandbox.execute("vm:observe");
  step += 1;
  const file = join(folder, `${step}-${what}.png`);
  await writeFile(file, Buffer.from(screenshot ?? "", "base64"));
  console.log(file);
}

const lacking = await start(sandbox);
if (lacking === undefined) {
  await show("empty");
  await sandbox.execute("vm:key", { key: "Down" });
  for (const [index, row] of ROWS.entries()) {
    // Tab goes to the next cell, Return to the first one of the next row.
    await sandbox.execute("vm:type", { text: `${row.join("\t")}\n` });
    await show(`row-${index + 1}`);
  }
  await sandbox.execute("vm:hotkey", { keys: ["ctrl", "s"] });
  await show("saved");
  await sandbox.execute("vm:done");
  const { score, details } = await sandbox.execute("vm:evaluate", { evaluator });
  const { total } = await sandbox.execute("vm:history");
  console.log(`score ${score} after ${total} actions`, score === 1 ? "" : details);
  if (score !== 1) process.exitCode = 1;
} else console.log(`skipped: ${lacking}`);
