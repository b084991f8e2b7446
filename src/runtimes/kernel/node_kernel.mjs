// Runs user code in this process's own realm through V8's REPL mode: redeclaration, top-level await, the last value and
// true line numbers come from the engine. Plain JavaScript for any Node from 18 on, since it runs on the sandbox's own.
// User code reaches everything here: what this process says is data to the supervisor, never authority.
import inspector from "node:inspector";
import * as module from "node:module";
import net from "node:net";
import { inspect } from "node:util";

const TEXT_LIMIT = 64 * 1024;
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

async function evaluate(code, x) {
  const outcome = await post("Runtime.evaluate", {
    expression: `${code}\n//# sourceURL=cell-${x}.js`,
    replMode: true,
    awaitPromise: true,
    objectGroup: "cell",
  });
  const details = outcome.exceptionDetails;
  if (details === undefined) return unwrap(outcome.result);
  const thrown = await unwrap(details.exception ?? { type: "undefined" });
  throw { thrown, line: details.lineNumber + 1 };
}

function describe({ thrown, line }, x) {
  const name = thrown instanceof Error ? String(thrown.name) : typeof thrown;
  const message = thrown instanceof Error ? String(thrown.message) : clip(inspect(thrown));
  const stack = thrown instanceof Error && typeof thrown.stack === "string" ? thrown.stack : `${name}: ${message}`;
  const cell = new RegExp(`cell-${x}\\.js:(\\d+)`);
  // Frames of this file and of the inspector say nothing about the code that was sent.
  const lines = stack
    .split("\n")
    .filter((text) => !/\bnode:|node_kernel\.mjs|at new Promise \(<anonymous>\)/.test(text));
  const at = cell.exec(lines.join("\n"))?.[1];
  return {
    name,
    message: clip(message),
    line: at === undefined ? line : Number(at),
    traceback: clip(lines.join("\n").replaceAll("at <anonymous> (", "at (")),
  };
}

function clip(text) {
  if (text.length <= TEXT_LIMIT) return text;
  const half = TEXT_LIMIT / 2;
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters left out …\n${text.slice(-half)}`;
}

function toJson(value) {
  try {
    const json = JSON.stringify(value);
    if (json === undefined) return [null, false];
    return json.length > limits.result_bytes ? [null, true] : [JSON.parse(json), false];
  } catch {
    return [null, false];
  }
}

async function execute({ x, code, dialect }) {
  const done = { t: "done", x, value: null, text: null, value_truncated: false, error: null };
  const interrupted = new Promise((_, reject) => {
    live = { x, nextCall: 0, calls: new Map(), waiting: [], stop: reject };
  });
  interrupted.catch(() => {});
  try {
    const source = dialect === "typescript" ? stripTypes(code) : code;
    const value = await Promise.race([evaluate(source, x), interrupted]);
    if (value !== undefined) done.text = clip(typeof value === "string" ? value : inspect(value, { depth: 4 }));
    [done.value, done.value_truncated] = toJson(value);
  } catch (error) {
    const failure = error !== null && typeof error === "object" && "thrown" in error ? error : { thrown: error };
    if (failure.thrown instanceof ExitSignal) {
      done.exit_code = failure.thrown.code;
      if (failure.thrown.code !== 0)
        done.error = { name: "Exit", message: `process.exit(${failure.thrown.code})`, traceback: "" };
    } else {
      done.error = describe(failure, x);
    }
  }
  live = null;
  send(done);
}

function stripTypes(code) {
  if (module.stripTypeScriptTypes === undefined)
    throw new Error(`Node ${process.version} cannot strip TypeScript's types`);
  return module.stripTypeScriptTypes(code);
}

process.exit = (code = process.exitCode ?? 0) => {
  const signal = new ExitSignal(Number(code) & 0xff);
  live?.stop({ thrown: signal });
  throw signal;
};
process.on("SIGINT", () => live?.stop({ thrown: new Error("interrupted") }));
process.on("uncaughtException", (error) => {
  if (!(error instanceof ExitSignal)) process.stderr.write(`Uncaught ${inspect(error)}\n`);
});
process.chdir(process.env.HOME ?? "/");
globalThis.require = module.createRequire(`${process.cwd()}/cell.js`);
globalThis.tools = { call: callTool };
globalThis.ToolError = ToolError;

let buffered = Buffer.alloc(0);
channel.on("data", (chunk) => {
  buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
  while (buffered.length >= 4) {
    const end = 4 + buffered.readUInt32BE(0);
    if (buffered.length < end) return;
    const message = JSON.parse(buffered.toString("utf8", 4, end));
    buffered = buffered.subarray(end);
    if (message.t === "exec") void execute(message);
    else settle(message);
  }
});
channel.on("close", () => process.kill(process.pid, "SIGKILL"));
