import BrowserBackend from "../../src/backends/browser/backend.ts";
import { DockerRuntime } from "../../src/runtimes/docker/runtime.ts";
import { createRuntimeSelector } from "../../src/runtimes/selector.ts";
import { recordingLogger } from "./recording-logger.ts";

// A server's part that a test kills: it makes a session with a browser, says what its store would keep, and waits.
const { stateFolder } = JSON.parse(process.env["CRASH"] ?? "{}");
const runtimes = createRuntimeSelector({ order: ["docker"], runtimes: [new DockerRuntime({ stateFolder })] });
const backend = new BrowserBackend({ config: { network: "none" }, runtimes });
const { signal } = new AbortController();
const about = { workerId: "w", tenant: "t", config: {} };
const data = await backend.initialize(
  { ...about, sessionId: "s" },
  { resource: "browser", logger: recordingLogger(), signal },
);
await data.run("navigate", { url: "data:text/html,<title>Kept</title>", wait_until: "load" }, signal);
await data.run("new_tab", {}, signal);
process.send?.(backend.handle({ ...about, id: "s", name: "browser_w_001", resource: "browser", data }));
setInterval(() => {}, 60_000);
