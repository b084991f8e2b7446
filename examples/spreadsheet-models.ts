// Does the spreadsheet task by what models said, in their own words: raw actions recorded from Anthropic's and OpenAI's APIs go in, and
// what these APIs want back comes out, screenshots included. Run it with `npx node examples/spreadsheet-models.ts`.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "toolyard";
import { evaluator, start } from "./spreadsheet-task.ts";

const DIALECTS = ["anthropic_computer_toolset_20260801", "openai_computer"] as const;
const said: Record<string, unknown[]> = JSON.parse(
  await readFile(new URL("spreadsheet-actions.json", import.meta.url), "utf8"),
);
const folder = join(tmpdir(), "toolyard-spreadsheet");
await mkdir(folder, { recursive: true });
await using sandbox = await Sandbox.open({ timeoutMs: 120_000 });

/** The picture in an answer: a base64 block for Anthropic, a data URL for OpenAI. */
function toPicture(answer: unknown): Buffer | undefined {
  const text = JSON.stringify(answer);
  const base64 = /"data":"([^"]+)"|;base64,([^"]+)"/.exec(text);
  return base64 === null ? undefined : Buffer.from(base64[1] ?? base64[2] ?? "", "base64");
}

for (const dialect of DIALECTS) {
  const lacking = await start(sandbox);
  if (lacking !== undefined) {
    console.log(`skipped: ${lacking}`);
    break;
  }
  for (const [index, action] of (said[dialect] ?? []).entries()) {
    const { answer, error } = await sandbox.execute("vm:model_action", { dialect, action });
    if (error !== null) throw new Error(error);
    const picture = toPicture(answer);
    if (picture !== undefined) await writeFile(join(folder, `${dialect}-${index + 1}.png`), picture);
    console.log(`${dialect} ${index + 1}: ${picture === undefined ? JSON.stringify(answer) : "a screenshot"}`);
  }
  const { score, details } = await sandbox.execute("vm:evaluate", { evaluator });
  console.log(`${dialect}: score ${score}`, score === 1 ? "" : details);
  if (score !== 1) process.exitCode = 1;
  await sandbox.destroySession("vm");
}
