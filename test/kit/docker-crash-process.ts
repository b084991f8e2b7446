import { DockerRuntime } from "../../src/runtimes/docker/runtime.ts";

const { stateFolder, count, options } = JSON.parse(process.env["CRASH"] ?? "{}");
const { signal } = new AbortController();
const runtime = new DockerRuntime({ stateFolder, ...options });
const made = await Promise.all(
  Array.from({ length: count }, async () => {
    const sandbox = await runtime.create({}, signal);
    const kernel = await sandbox.openKernel("python", signal, { name: "main" });
    await kernel.run({ code: "x = 41", deadlineMs: 10_000 }, { signal });
    return { id: sandbox.id, handle: sandbox.handle };
  }),
);
process.send?.(made);
setInterval(() => {}, 60_000);
