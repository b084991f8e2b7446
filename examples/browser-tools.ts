// What examples/browser.ts leaves out: tabs, keys, waiting, history, cookies, state, downloads, uploads, and what a page logged.
// Nothing is asked of the network. Run it with `npx node examples/browser-tools.ts`.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "toolyard";

const page = (html: string) => `data:text/html,${encodeURIComponent(html)}`;
const FIRST =
  page(`<title>First</title><h1>Metals</h1><p onmouseover="this.textContent = 'hovered'">Copper</p><input onkeydown="key.value = event.key">
<output id="key"></output><a download="note.txt" href="data:text/plain,hello">note</a><input type="file" onchange="file.value = this.files[0].name">
<output id="file"></output><div style="height: 3000px"></div><script>console.log("loaded"); setTimeout(() => document.body.append("later"), 100)</script>`);
const SECOND = page("<title>Second</title><p>Zinc</p>");

function expect(what: string, found: unknown, wanted: unknown): void {
  console.log(`${what}: ${JSON.stringify(found)}`);
  if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${what} is not ${JSON.stringify(wanted)}`);
}

const folder = await mkdtemp(join(tmpdir(), "toolyard-browser-"));
const configPath = join(folder, "config.json");
await writeFile(configPath, JSON.stringify({ resources: { browser: { config: { network: "none" } } } }));

async function show(sandbox: Sandbox): Promise<void> {
  await sandbox.execute("browser:navigate", { url: FIRST });
  await sandbox.execute("browser:wait_for", { text: "later" });
  console.log((await sandbox.execute("browser:markdown")).text.split("\n")[0]);
  await sandbox.execute("browser:hover", { selector: "p" });
  expect("hovered", (await sandbox.execute("browser:text", { selector: "p" })).text.trim(), "hovered");
  await sandbox.execute("browser:press", { key: "ArrowDown", selector: "input" });
  expect("key", (await sandbox.execute("browser:evaluate", { expression: "key.value" })).value, "ArrowDown");
  await sandbox.execute("browser:scroll", { dy: 500 });
  await sandbox.execute("browser:wait_for", { expression: "scrollY > 0" });

  await sandbox.execute("browser:click", { selector: "a" });
  let [note] = (await sandbox.execute("browser:downloads")).downloads;
  while (note?.state !== "completed") [note] = (await sandbox.execute("browser:downloads")).downloads;
  const { base64 } = await sandbox.execute("browser:read_download", { id: note.id });
  expect("downloaded", Buffer.from(base64, "base64").toString(), "hello");
  await sandbox.execute("browser:upload", { selector: "input[type=file]", paths: [note.path] });
  const named = (await sandbox.execute("browser:evaluate", { expression: "file.value !== ''" })).value;
  expect("uploaded", named, true);

  await sandbox.execute("browser:navigate", { url: SECOND });
  expect("back", (await sandbox.execute("browser:back")).title, "First");
  expect("forward", (await sandbox.execute("browser:forward")).title, "Second");
  expect("reload", (await sandbox.execute("browser:reload")).title, "Second");
  await sandbox.execute("browser:new_tab", { url: FIRST });
  await sandbox.execute("browser:select_tab", { tab: 1 });
  const { tabs } = await sandbox.execute("browser:tabs");
  expect(
    "tabs",
    tabs.map(({ title, current }) => [title, current]),
    [
      ["Second", true],
      ["First", false],
    ],
  );
  expect("tabs left", (await sandbox.execute("browser:close_tab", { tab: 2 })).tabs.length, 1);

  const cookies = [{ name: "basket", value: "7", domain: "example.org" }];
  await sandbox.execute("browser:set_cookies", { cookies });
  const { state } = await sandbox.execute("browser:save_state");
  await sandbox.execute("browser:clear_cookies");
  expect("cookies", (await sandbox.execute("browser:cookies")).cookies, []);
  expect("cookies again", (await sandbox.execute("browser:load_state", { state })).cookies.length, 1);

  const { entries } = await sandbox.execute("browser:console");
  expect("console", entries[0]?.text, "loaded");
  console.log((await sandbox.execute("browser:network")).entries.length, "requests");
  expect("rendered", (await sandbox.execute("browser:render", { url: SECOND })).title, "Second");
}

try {
  await using sandbox = await Sandbox.open({ configPath, timeoutMs: 120_000 });
  const opened = await sandbox.call("browser:tabs");
  if (!opened.ok && opened.error.error === "session_init_failed") {
    console.log(`skipped: ${opened.error.message}`);
  } else {
    await sandbox.createSession("browser");
    await show(sandbox);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
