import { ToolyardError } from "../../core/errors.ts";
import type { KernelState, KernelStateOptions } from "../../core/kernel-state.ts";
import type { Execution, ExecutionHooks, Kernel } from "../../core/runtime.ts";
import type { KernelRequest } from "./messages.ts";

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;

/** Gives a Python kernel the methods that write and read its variables, over executions in dialects of their own. */
export function createStateMethods(
  execute: (request: KernelRequest, hooks: ExecutionHooks) => Promise<Execution>,
): Required<Pick<Kernel, "dumpState" | "loadState">> {
  const order = async (
    dialect: "dump_state" | "load_state",
    order: object,
    { deadlineMs, signal }: Pick<KernelStateOptions, "deadlineMs" | "signal">,
  ) => toKernelState(await execute({ code: JSON.stringify(order), deadlineMs, dialect }, { signal }));
  return {
    dumpState: (path, options) =>
      order("dump_state", { path, max_bytes: options.maxBytes ?? DEFAULT_MAX_BYTES }, options),
    loadState: (path, options) => order("load_state", { path }, options),
  };
}

function toKernelState({ status, error, limit, value }: Execution): KernelState {
  switch (status) {
    case "timeout":
      throw new ToolyardError("timeout", "the kernel's state was not read or written in time");
    case "cancelled":
      throw new ToolyardError("cancelled", "the kernel's state was no longer wanted");
    case "limit":
      throw new ToolyardError("limit_exceeded", `the kernel's state met the limit "${limit}"`, { details: { limit } });
    case "ok":
      break;
    case "error":
    case "exited": {
      const reason = error === null ? "its interpreter ended" : `${error.name}: ${error.message}`;
      throw new ToolyardError("execution_error", `the kernel's state was not read or written: ${reason}`);
    }
  }
  const facts = isFields(value) ? value : {};
  const { saved, skipped, bytes } = facts;
  return {
    saved: isTexts(saved) ? saved : [],
    skipped: Array.isArray(skipped) ? skipped.flatMap(toSkipped) : [],
    sizeBytes: typeof bytes === "number" ? bytes : 0,
  };
}

// User code can reach what answers: its types are not to be relied on.
function toSkipped(item: unknown): KernelState["skipped"][number][] {
  if (!isFields(item)) return [];
  const { name, reason } = item;
  return typeof name === "string" && typeof reason === "string" ? [{ name, reason }] : [];
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
