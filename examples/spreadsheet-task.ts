// The task that both spreadsheet examples do: what is to be there at first, and how it is judged.
import type { Sandbox } from "toolyard";

export const ROWS = [
  ["Tea", "3.1", "4"],
  ["Coffee", "4.5", "2"],
  ["Smørrebrød", "6", "1"],
];
const HEADER = "Item,Price,Count";

/** Opens a desktop with an empty sheet in Gnumeric; answers why not where there can be none here. */
export async function start(sandbox: Sandbox): Promise<string | undefined> {
  const make = `command -v ssconvert gnumeric >/dev/null && echo ${HEADER} > sales.csv && ssconvert sales.csv sales.gnumeric`;
  const config = { width: 1024, height: 700, instruction: "Fill in the sheet and save it." };
  const { status, sessions } = await sandbox.createSession("vm", config);
  if (status === "error") return `no desktop can run here: ${sessions["vm"]?.message}`;
  const { exit_code: code } = await sandbox.execute("vm:run_command", { command: make });
  if (code !== 0) return "this desktop has no Gnumeric";
  await sandbox.execute("vm:launch", { app: "gnumeric", args: ["sales.gnumeric"] });
  await sandbox.execute("vm:wait_for", { window: { title: "sales.gnumeric" }, timeout_ms: 60_000 });
  // Its window may be there before it takes keys.
  await sandbox.execute("vm:wait_for", { stable_screen: { quiet_ms: 700 }, timeout_ms: 60_000 }).catch(() => {});
  return undefined;
}

/** Scores 1 when the file that was saved has the rows. */
export const evaluator = {
  postconfig: [{ type: "execute", parameters: { command: "ssconvert sales.gnumeric sales.xlsx" } }],
  func: "compare_table",
  result: { type: "vm_file", path: "sales.xlsx" },
  expected: { type: "inline_file", text: [HEADER, ...ROWS.map((row) => row.join(","))].join("\n") },
  options: { rules: [{ type: "sheet_data" }] },
};
