import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { lowerPriority } from "../kernel/low-priority.ts";

// `.ts` when this runs from source (Node strips the types), `.js` from dist.
const ENTRY = new URL(`./child${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

// The stack is larger than QuickJS's own limit needs, so that deep recursion is the guest's error and not V8's.
const FLAGS = [
  ...["--no-warnings", "--stack-size=6000", "--max-old-space-size=256", "--disallow-code-generation-from-strings"],
  // Should user code ever leave the engine, it still writes no file and starts no process. Since Node 22.13.
  ...(process.allowedNodeEnvironmentFlags.has("--permission")
    ? ["--permission", "--allow-fs-read=*", "--allow-worker"]
    : []),
];

/** A started engine process, not yet greeted. */
export interface EngineProcess {
  readonly process: ChildProcess;
  readonly channel: Duplex;
}

/** Starts an engine that shares nothing with the server: no environment, no files but the protocol's, no output. */
export function startEngine(): EngineProcess {
  const child = spawn(process.execPath, [...FLAGS, fileURLToPath(ENTRY)], {
    cwd: "/",
    env: {},
    stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
  });
  lowerPriority(child);
  // Node makes every extra "pipe" a socket pair, hence a Duplex; its types cannot tell.
  const channel = child.stdio[3] as Duplex;
  // An engine that dies while nobody uses it is noticed at its claim.
  channel.on("error", () => {});
  child.stdio[4]?.on("error", () => {});
  child.on("error", () => {});
  return { process: child, channel };
}

/** Lets the server exit although a spare engine waits, or holds it again once the engine is in use. */
export function setKeepsAlive(engine: EngineProcess, keeps: boolean): void {
  const method = keeps ? "ref" : "unref";
  engine.process[method]();
  for (const stream of engine.process.stdio) {
    // Sockets have ref and unref; the type of stdio does not say that they are sockets.
    const socket: unknown = stream;
    if (isRefCounted(socket)) socket[method]();
  }
}

interface RefCounted {
  ref(): void;
  unref(): void;
}

const isRefCounted = (value: unknown): value is RefCounted =>
  typeof value === "object" && value !== null && "unref" in value && "ref" in value;
