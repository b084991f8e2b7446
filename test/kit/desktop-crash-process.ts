import VmBackend from "../../src/backends/vm/backend.ts";
import { DockerRuntime } from "../../src/runtimes/docker/runtime.ts";
import { createRuntimeSelector } from "../../src/runtimes/selector.ts";
import { recordingLogger } from "./recording-logger.ts";

// A server's part that a test kills: it makes a session with a desktop, says what its store would keep, and waits.
const { stateFolder } = JSON.parse(process.env["CRASH"] ?? "{}");
const runtime = new DockerRuntime({ stateFolder });
const runtimes = createRuntimeSelector({ order: ["docker"], runtimes: [runtime] });
const backend = new VmBackend({ config: { width: 640, height: 480 }, runtimes });
const lifecycle = { resource: "vm", logger: recordingLogger(), signal: new AbortController().signal };
const about = { workerId: "w", tenant: "t", config: { dpi: 120 } };
const data = await backend.initialize({ ...about, sessionId: "s" }, lifecycle);
await data.desktop.running.files?.write("kept", Buffer.from("still here"), {}, lifecycle.signal);
process.send?.(backend.handle({ ...about, id: "s", name: "vm_w_001", resource: "vm", data }));
setInterval(() => {}, 60_000);
