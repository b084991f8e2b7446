/**
 * What every QuickJS context starts with: console, timers, `tools`, and the functions that tell the host about values.
 *
 * It takes the intrinsics that it needs before user code can change them. Evaluates to a function of the host's four
 * primitives that returns the hooks.
 */
export const PRELUDE = String.raw`(function (write, call, startTimer, stopTimer) {
  "use strict";
  const { stringify, parse } = JSON;
  const { isArray } = Array;
  const { getPrototypeOf, keys } = Object;
  const P = Promise, E = Error, M = Map, S = Set, W = WeakSet;
  const toString = Object.prototype.toString;

  function quote(text) { return stringify(text); }

  function inspect(value, depth, seen) {
    switch (typeof value) {
      case "string": return depth === 0 ? value : quote(value);
      case "bigint": return String(value) + "n";
      case "symbol": return value.toString();
      case "function": return "[" + (/^class\b/.test(Function.prototype.toString.call(value)) ? "class" : "Function") + (value.name ? " " + value.name : " (anonymous)") + "]";
      case "number": return Object.is(value, -0) ? "-0" : String(value);
      case "object": break;
      default: return String(value);
    }
    if (value === null) return "null";
    if (seen.has(value)) return "[Circular]";
    if (value instanceof E) return describeError(value);
    if (value instanceof Date || value instanceof RegExp) return String(value instanceof Date && !isNaN(value) ? value.toISOString() : value);
    if (value instanceof P) return "Promise {}";
    if (depth > 4) return isArray(value) ? "[Array]" : "[Object]";
    seen.add(value);
    const items = [];
    let open = "{", close = "}";
    if (isArray(value) || ArrayBuffer.isView(value) && typeof value.length === "number") {
      open = "["; close = "]";
      for (let i = 0; i < value.length && i < 100; i++) items.push(inspect(value[i], depth + 1, seen));
      if (value.length > 100) items.push("… " + (value.length - 100) + " more items");
    } else if (value instanceof M) {
      open = "Map(" + value.size + ") {";
      for (const [k, v] of value) { if (items.length >= 100) { items.push("…"); break; } items.push(inspect(k, depth + 1, seen) + " => " + inspect(v, depth + 1, seen)); }
    } else if (value instanceof S) {
      open = "Set(" + value.size + ") {";
      for (const v of value) { if (items.length >= 100) { items.push("…"); break; } items.push(inspect(v, depth + 1, seen)); }
    } else {
      const proto = getPrototypeOf(value);
      const name = proto === null ? "[Object: null prototype]" : proto.constructor && proto.constructor.name;
      if (name && name !== "Object") open = name + " {";
      for (const key of keys(value)) {
        if (items.length >= 100) { items.push("…"); break; }
        items.push((/^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key)) + ": " + inspect(value[key], depth + 1, seen));
      }
    }
    seen.delete(value);
    if (items.length === 0) return open + close;
    const line = items.join(", ");
    const pad = open.slice(-1) === "[" ? "" : " ";
    return line.length <= 100 ? open + pad + line + pad + close : open + "\n  " + items.join(",\n  ") + "\n" + close;
  }

  function describeError(error) {
    const stack = typeof error.stack === "string" ? error.stack.trimEnd() : "";
    return error.name + ": " + error.message + (stack ? "\n" + stack : "");
  }

  function print(value) {
    try { return inspect(value, 0, new W()); } catch (error) { return "[could not be printed: " + (error && error.message) + "]"; }
  }

  function log(stream) {
    return function (...values) {
      if (values.length === 1 && typeof values[0] === "string") return write(stream, values[0] + "\n");
      if (typeof values[0] === "string" && values[0].includes("%")) {
        let next = 1;
        const first = values[0].replace(/%([sdifoOj%])/g, (whole, kind) => {
          if (kind === "%") return "%";
          if (next >= values.length) return whole;
          const value = values[next++];
          return kind === "s" ? (typeof value === "string" ? value : print(value)) : kind === "d" || kind === "f" ? String(Number(value)) : kind === "i" ? String(parseInt(value)) : kind === "j" ? stringify(value) : print(value);
        });
        values = [first].concat(values.slice(next));
      }
      write(stream, values.map(print).join(" ") + "\n");
    };
  }
  const out = log(1), err = log(2);
  globalThis.console = { log: out, info: out, debug: out, table: out, dir: (value) => out(value), warn: err, error: err, trace: err,
    assert: (ok, ...values) => { if (!ok) err("Assertion failed:", ...values); }, time() {}, timeEnd() {}, group: out, groupEnd() {} };

  const timers = new M();
  globalThis.setTimeout = (callback, delay, ...args) => {
    const id = startTimer(Number(delay) || 0);
    timers.set(id, () => { timers.delete(id); callback(...args); });
    return id;
  };
  globalThis.setInterval = (callback, delay, ...args) => {
    let id = startTimer(Number(delay) || 0);
    const first = id;
    const again = () => { timers.delete(id); id = startTimer(Number(delay) || 0); timers.set(id, again); aliases.set(first, id); callback(...args); };
    timers.set(id, again);
    return id;
  };
  const aliases = new M();
  globalThis.clearTimeout = globalThis.clearInterval = (id) => { const real = aliases.get(id) ?? id; timers.delete(real); stopTimer(Number(real) || 0); };
  globalThis.queueMicrotask = (callback) => { P.resolve().then(callback); };
  globalThis.structuredClone ??= (value) => parse(stringify(value));

  class ToolError extends E {
    constructor({ type, message, code, data, retryable }) {
      super(message);
      this.name = "ToolError";
      Object.assign(this, { type, code, data, retryable });
    }
  }
  globalThis.ToolError = ToolError;
  const calls = new M();
  let waiting = [];
  let allowed = 1;
  function start(entry) {
    const index = call(entry.tool, entry.args);
    if (index < 0) entry.reject(new TypeError("the arguments of a tool must be a JSON object of at most 8 MiB"));
    else calls.set(index, entry);
  }
  globalThis.tools = Object.freeze({
    call(tool, args = {}) {
      return new P((resolve, reject) => {
        const entry = { tool: String(tool), args: stringify(args) ?? "null", resolve, reject };
        if (calls.size < allowed) start(entry);
        else waiting.push(entry);
      });
    },
  });

  return {
    print,
    json(value) { try { return stringify(value) ?? null; } catch { return null; } },
    describe(error) {
      const known = error instanceof E;
      const name = known ? String(error.name) : typeof error;
      const message = known ? String(error.message) : print(error);
      const stack = known && typeof error.stack === "string" ? error.stack : "";
      return stringify({ name, message, stack: stack.slice(0, 20000), line: known && typeof error.lineNumber === "number" ? error.lineNumber : null });
    },
    settle(index, ok, json) {
      const entry = calls.get(index);
      calls.delete(index);
      const next = waiting.shift();
      if (next !== undefined) start(next);
      if (entry === undefined) return;
      if (ok) entry.resolve(parse(json));
      else entry.reject(new ToolError(parse(json)));
    },
    fire(id) { const run = timers.get(id); if (run !== undefined) run(); },
    begin(callsInFlight) { allowed = callsInFlight; calls.clear(); waiting = []; timers.clear(); aliases.clear(); },
  };
})`;
