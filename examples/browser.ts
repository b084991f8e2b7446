// Fills in a form in a browser: sees the page as a screen reader does, works it by refs, and saves a picture. Nothing is asked of the
// network. Run it with `npx node examples/browser.ts`.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "toolyard";

const PAGE = `<title>Order</title><h1>Order</h1><form onsubmit="event.preventDefault(); out.value = 'Thank you, ' + name.value + '!'">
<label>Name <input id="name"></label> <label><input type="checkbox" id="gift"> As a gift</label> <button>Send</button>
<p><output id="out"></output></p></form>`;

const folder = await mkdtemp(join(tmpdir(), "toolyard-browser-"));
const config = join(folder, "config.json");
await writeFile(config, JSON.stringify({ resources: { browser: { config: { network: "none" } } } }));

await using sandbox = await Sandbox.open({ configPath: config, timeoutMs: 120_000 });
const opened = await sandbox.call("browser:navigate", { url: `data:text/html,${encodeURIComponent(PAGE)}` });
if (!opened.ok && opened.error.error === "session_init_failed") {
  console.log(`skipped: ${opened.error.message}`);
} else {
  await sandbox.createSession("browser");
  await sandbox.execute("browser:navigate", { url: `data:text/html,${encodeURIComponent(PAGE)}` });
  const { snapshot } = await sandbox.execute("browser:snapshot");
  console.log(snapshot);
  const ref = (what: string) => new RegExp(`${what}.*?\\[ref=(e\\d+)\\]`).exec(snapshot)?.[1] ?? "";
  await sandbox.execute("browser:fill", { ref: ref('textbox "Name"'), value: "Ada" });
  await sandbox.execute("browser:fill", { ref: ref('checkbox "As a gift"'), value: true });
  await sandbox.execute("browser:click", { ref: ref('button "Send"') });
  const { text } = await sandbox.execute("browser:text", { selector: "output" });
  const { base64 } = await sandbox.execute("browser:screenshot");
  const picture = join(folder, "order.png");
  await writeFile(picture, Buffer.from(base64, "base64"));
  console.log(text, picture);
  if (text !== "Thank you, Ada!") process.exitCode = 1;
}
