// Searches and reads "the web" without one: a site on loopback that the config lists, and a provider that the config holds.
// Run it with `npx node examples/web.ts`.
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatToolResult, Sandbox } from "toolyard";

const paragraph = "<p>Copper conducts electricity better than any other metal but silver.</p>".repeat(5);
const site = createServer((request, response) => {
  const isPage = request.url === "/copper";
  response.writeHead(isPage ? 200 : 404, { "content-type": "text/html" });
  response.end(isPage ? `<title>Copper</title><nav>Home</nav><article><h1>Copper</h1>${paragraph}</article>` : "");
});
site.listen(0, "127.0.0.1");
await once(site, "listening");
// A listening server of this kind has an address with a port.
const { port } = site.address() as AddressInfo;
const url = `http://127.0.0.1:${port}/copper`;

const folder = await mkdtemp(join(tmpdir(), "toolyard-web-"));
const configPath = join(folder, "config.json");
const image = "https://example.org/copper.png";
const documents = [{ url, title: "Copper", text: "Copper conducts electricity.", image_url: image }];
const config = { fixture: { documents }, http: { private_hosts: [`127.0.0.1:${port}`] } };
await writeFile(configPath, JSON.stringify({ resources: { web: { backend: "web", config } } }));

try {
  await using sandbox = await Sandbox.open({ configPath });
  const found = await sandbox.execute("web:search", { query: ["copper", "what conducts electricity?"] });
  console.log(found.result);
  const [first] = found.searches[0]?.results ?? [];
  if (first === undefined) throw new Error("nothing was found");
  const { pages } = await sandbox.execute("web:visit", { urls: first.url });
  console.log(`\n-- ${pages[0]?.title}, ${pages[0]?.characters} characters\n${pages[0]?.text.slice(0, 200)}…`);
  const images = await sandbox.execute("web:image_search", { query: "copper" });
  const pagesWithIt = await sandbox.execute("web:reverse_image_search", { image_url: image });
  console.log(`\n-- ${images.images.length} image, shown by ${pagesWithIt.images[0]?.link}`);
  const { status, content_type: type, size_bytes: size } = await sandbox.execute("web:fetch", { url });
  console.log(`-- fetched: ${status}, ${type}, ${size} bytes`);
  console.log(`-- ${formatToolResult(await sandbox.call("web:visit", { urls: "http://169.254.169.254/" }))}`);
} finally {
  site.closeAllConnections();
  site.close();
  await rm(folder, { recursive: true, force: true });
}
