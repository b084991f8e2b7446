import type { Envelope } from "../../core/protocol.ts";
import type { ResultMeta, ToolFailure, ToolResult } from "../../core/result.ts";
import { isEnvelope, isJsonObject, toToolResult } from "../envelope.ts";

/** A piece of an answer for a model, in the shape that MCP uses. */
export type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string };

/** How much to say. */
export interface FormatOptions {
  /** Adds what a person wants to see and a model does not need: the query, times, the session. @default false */
  readonly verbose?: boolean;
}

/** One result, as a formatter sees it. */
export interface ToolView {
  /** The full name of the tool, or the operation (`session:create`); empty when the result does not say. */
  readonly tool: string;
  /** What the tool answered; of a failure, its details. */
  readonly data: unknown;
  /** Absent when the call succeeded. */
  readonly failure?: ToolFailure;
  readonly meta: Partial<ResultMeta>;
  readonly verbose: boolean;
  /** Whether image blocks reach the reader; only text does otherwise. */
  readonly showsImages: boolean;
  /** Formats an envelope inside this one, with the same formatters. */
  nested(result: unknown): string;
}

/** Turns one tool's results into text, or into blocks when it has images. */
export type ToolFormatter = (view: ToolView) => string | readonly ContentBlock[];

/** What can be formatted: an envelope from the wire, or what `call` returned. */
export type Formattable = Envelope | ToolResult;

/** Reads an envelope or a result; takes anything else for the bare data of an unknown tool. */
export function toToolView(result: unknown, how: Pick<ToolView, "verbose" | "showsImages" | "nested">): ToolView {
  const read = isToolResult(result) ? result : isEnvelope(result) ? toToolResult(result) : undefined;
  if (read === undefined) return { ...how, tool: "", data: result, meta: {} };
  const view = { ...how, tool: String(read.meta.tool ?? ""), meta: read.meta };
  return read.ok ? { ...view, data: read.data } : { ...view, data: read.error.details, failure: read.error };
}

function isToolResult(value: unknown): value is ToolResult {
  if (!isJsonObject(value) || !isJsonObject(value["meta"])) return false;
  return value["ok"] === true ? "data" in value : value["ok"] === false && isJsonObject(value["error"]);
}
