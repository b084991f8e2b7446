// Stands in for the server's program: keeps to its contract with the parent, or breaks it as `--config` says.
import * as http from "node:http";
import type { AddressInfo } from "node:net";

const [command, ...flags] = process.argv.slice(2);
const flag = (name: string) => (flags.includes(name) ? flags[flags.indexOf(name) + 1] : undefined);
const mode = flag("--config");

if (command !== "serve") process.exit(2);
if (mode === "crash") {
  process.stderr.write("config: backends.vm: no such backend\n", () => process.exit(3));
} else if (mode === "hang") {
  process.stderr.write("still warming up\n");
  setInterval(() => {}, 1_000);
} else {
  if (mode === "stubborn") process.on("SIGTERM", () => {});
  process.once("disconnect", () => process.exit(0));
  const server = http.createServer((request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    if (request.url === "/health") response.end(JSON.stringify({ status: "healthy", timestamp: "", pid: process.pid }));
    else
      response.end(JSON.stringify({ code: 0, message: "success", data: { pid: process.pid }, meta: { tool: "pid" } }));
  });
  server.listen(Number(flag("--port")), "127.0.0.1", () => {
    // A server that listens on a port has an address with one.
    const { port } = server.address() as AddressInfo;
    process.send?.({ type: "listening", url: `http://127.0.0.1:${port}`, pid: process.pid });
  });
}
