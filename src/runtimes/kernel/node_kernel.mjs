// Runs user code in this process's own realm through V8's REPL mode: redeclaration, top-level await, the last value and
// true line numbers come from the engine. Plain JavaScript for any Node from 18 on, since it runs on the sandbox's own.
// User code reaches everything here: what this process says is data to the supervisor, never authority.
import inspector from "node:inspector";
import { createRequire } from "node:module";
import net from "node:net";
import { inspect } from "node:util";
import vm from "node:vm";
import { createDisplays } from "./node_displays.mjs";
import { clip, describe } from "./node_text.mjs";
import { toJson } from "./node_values.mjs";

const limits = JSON.parse(process.env.TOOLYARD_LIMITS);
delete process.env.TOOLYARD_LIMITS;
const channel = new net.Socket({ fd: 3 });
const session = new inspector.Session();
session.connect();

class ExitSignal {
  constructor(code) {
    this.code = code;
  }
}

class ToolError extends Error {
  constructor({ type, message, code, data, retryable }) {
    super(message);
    this.name = "ToolError";
    Object.assign(this, { type, code, data, retryable });
  }
}

let live = null;

function send(message) {
  const payload = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(4);
  header.writeUInt32BE(payload.length);
  channel.write(Buffer.concat([header, payload]));
}

function callTool(tool, args = {}) {
  const execution = live;
  if (execution === null) return Promise.reject(new Error("no execution is live"));
  return new Promise((resolve, reject) => {
    const start = () => {
      const i = execution.nextCall++;
      execution.calls.set(i, { resolve, reject });
      send({ t: "call", x: execution.x, i, tool: String(tool), args });
    };
    if (execution.calls.size < limits.calls_in_flight) start();
    else execution.waiting.push(start);
  });
}

function settle({ x, i, ok, value, error }) {
  if (live?.x !== x) return;
  const call = live.calls.get(i);
  live.calls.delete(i);
  live.waiting.shift()?.();
  if (ok) call?.resolve(value);
  else call?.reject(new ToolError(error));
}

function stop({ x }) {
  if (live?.x === x) live.stop({ thrown: new Error("interrupted") });
}

const post = (method, params) =>
  new Promise((resolve, reject) => {
    session.post(method, params, (error, result) => (error ? reject(error) : resolve(result)));
  });

// Brings an inspector's handle back as the value itself.
let unwrapped;
globalThis[Symbol.for("toolyard.unwrap")] = (value) => {
  unwrapped = value;
};
async function unwrap(remote) {
  if (remote.objectId === undefined) {
    if (remote.unserializableValue === undefined) return remote.value;
    if (remote.type === "bigint") return BigInt(remote.unserializableValue.slice(0, -1));
    return Number(remote.unserializableValue);
  }
  await post("Runtime.callFunctionOn", {
    objectId: remote.objectId,
    functionDeclaration: 'function (value) { globalThis[Symbol.for("toolyard.unwrap")](value); }',
    arguments: [{ objectId: remote.objectId }],
    silent: true,
  });
  const value = unwrapped;
  unwrapped = undefined;
  await post("Runtime.releaseObjectGroup", { objectGroup: "cell" });
  return value;
}

// A loop that never yields hears no signal of ours; what runs below this script is ended by Node's own watchdog at SIGINT.
const ENTER = Symbol.for("toolyard.enter");
const enter = new vm.Script('globalThis[Symbol.for("toolyard.enter")]()', { filename: "enter-cell.js" });
function interruptible(work) {
  globalThis[ENTER] = work;
  try {
    return enter.runInThisContext({ breakOnSigint: true });
  } catch (error) {
    throw error?.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED" ? new Error("interrupted") : error;
  }
}

const postInterruptible = (method, params) =>
  new Promise((resolve, reject) => {
    const post = () => {
      session.post(method, params, (error, result) => (error ? reject(new Error("interrupted")) : resolve(result)));
    };
    try {
      interruptible(post);
    } catch (error) {
      reject(error);
    }
  });

async function evaluate(code, x) {
  const outcome = await postInterruptible("Runtime.evaluate", {
    expression: `${code}\n//# sourceURL=cell-${x}.js`,
    replMode: true,
    awaitPromise: true,
    objectGroup: "cell",
  });
  const details = outcome.exceptionDetails;
  if (details === undefined) return unwrap(outcome.result);
  const thrown = await unwrap(details.exception ?? { type: "undefined" });
  throw { thrown, line: lineOf(details, thrown, `cell-${x}.js`) };
}

function lineOf({ url, lineNumber, stackTrace }, thrown, cell) {
  const frame = stackTrace?.callFrames.find((call) => call.url === cell);
  if (frame !== undefined) return frame.lineNumber + 1;
  // What does not parse has no frames.
  return url === cell || thrown instanceof SyntaxError ? lineNumber + 1 : undefined;
}

function answer(done, value) {
  done.text = clip(typeof value === "string" ? value : inspect(value, { depth: 4 }));
  [done.value, done.value_truncated, done.lossy] = toJson(value, limits.result_bytes);
  showResult(value, done.text);
}

async function execute({ x, code }) {
  const done = { t: "done", x, value: null, text: null, value_truncated: false, lossy: [], error: null };
  const interrupted = new Promise((_, reject) => {
    live = { x, nextCall: 0, calls: new Map(), waiting: [], stop: reject };
  });
  interrupted.catch(() => {});
  try {
    const value = await Promise.race([evaluate(code, x), interrupted]);
    // Methods of an object run too.
    if (typeof value === "object" || typeof value === "function") interruptible(() => answer(done, value));
    else if (value !== undefined) answer(done, value);
  } catch (error) {
    const failure = error !== null && typeof error === "object" && "thrown" in error ? error : { thrown: error };
    if (failure.thrown instanceof ExitSignal) {
      done.exit_code = failure.thrown.code;
      if (failure.thrown.code !== 0)
        done.error = { name: "Exit", message: `process.exit(${failure.thrown.code})`, traceback: "" };
    } else {
      done.error = describe(failure, x, code);
    }
  }
  live = null;
  send(done);
}

process.exit = (code = process.exitCode ?? 0) => {
  const signal = new ExitSignal(Number(code) & 0xff);
  live?.stop({ thrown: signal });
  throw signal;
};
// Ends what never yields, as above; it names no execution and may be late, so what waits is ended over the channel.
process.on("SIGINT", () => {});
process.on("uncaughtException", (error) => {
  if (!(error instanceof ExitSignal)) process.stderr.write(`Uncaught ${inspect(error)}\n`);
});
process.chdir(process.env.HOME ?? "/");
globalThis.require = createRequire(`${process.cwd()}/cell.js`);
globalThis.tools = { call: callTool };
globalThis.ToolError = ToolError;
const { display, showResult } = createDisplays((shown) => {
  if (live !== null) send({ t: "display", x: live.x, display: shown });
}, limits.result_bytes);
globalThis.display = display;

let buffered = Buffer.alloc(0);
channel.on("data", (chunk) => {
  buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
  while (buffered.length >= 4) {
    const end = 4 + buffered.readUInt32BE(0);
    if (buffered.length < end) return;
    const message = JSON.parse(buffered.toString("utf8", 4, end));
    buffered = buffered.subarray(end);
    if (message.t === "exec") void execute(message);
    else if (message.t === "stop") stop(message);
    else settle(message);
  }
});
channel.on("close", () => process.kill(process.pid, "SIGKILL"));
