// A process that starts a server and does not end it.
import { spawnServer } from "../../src/client/spawn.ts";

const server = await spawnServer({ entry: new URL("fake-entry.ts", import.meta.url), startupTimeoutMs: 100_000 });
process.send?.(server.pid, () => {
  if (process.argv[2] === "forget") process.channel?.unref();
});
if (process.argv[2] !== "forget") setInterval(() => {}, 1_000);
