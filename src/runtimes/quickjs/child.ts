// The process that QuickJS runs in: supervisor and kernel at once, since user code never leaves the WASM engine.
// Speaks "ptc-frame/1" on fd 3.
import { Socket } from "node:net";
import { Worker } from "node:worker_threads";

import { newQuickJSWASMModuleFromVariant } from "quickjs-emscripten-core";
import { encodeFrame, FrameDecoder } from "../kernel/frame.ts";
import type { HostFrame } from "../kernel/messages.ts";
import { QuickJsSession } from "./session.ts";

const PROTOCOL_FD = 3;

// Nothing is ever written to fd 4: it ends when the server does. A thread waits for that, because user code may hold
// this one in a built-in that cannot be interrupted, and no process may outlive the server.
const LIFELINE = `
  try { require("node:fs").readSync(4, Buffer.alloc(1)); } catch {}
  process.kill(process.pid, "SIGKILL");
`;

const engine = await newQuickJSWASMModuleFromVariant(import("@jitl/quickjs-wasmfile-release-sync"));
const channel = new Socket({ fd: PROTOCOL_FD });
const session = new QuickJsSession(engine, (frame) => channel.write(encodeFrame(frame)));
const decoder = new FrameDecoder();
channel.on("data", (chunk: Buffer) => {
  // The server is the other side: what it sends has the type it says.
  for (const frame of decoder.push(chunk)) session.handle(frame as HostFrame);
});
channel.on("error", () => process.exit(1));
channel.on("close", () => process.exit(0));
new Worker(LIFELINE, {
  eval: true,
  resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
}).unref();
