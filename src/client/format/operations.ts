import { isEnvelope, isJsonObject } from "../envelope.ts";
import { formatFailure } from "./failure.ts";
import { field, lines, listField, textField, toText } from "./fields.ts";
import type { ToolView } from "./tool-view.ts";

/** Formats every call of a batch under its number; a batch that failed still has its calls' results. */
export function formatBatch(view: ToolView): string {
  const results = listField(view.data, "results");
  if (results.length === 0 && view.failure !== undefined) return formatFailure(view);
  const total = field(view.data, "total") ?? results.length;
  const success = field(view.data, "success_count") ?? 0;
  return lines(
    `${toText(success)} of ${toText(total)} calls succeeded`,
    ...results.map((result, index) => {
      const tool = isEnvelope(result) ? result.meta.tool : "";
      return `\n[${index + 1}] ${tool}\n${view.nested(result)}`;
    }),
  );
}

/** Formats what was done to sessions, resources and workers: one line each. */
export function formatOperation(view: ToolView): string {
  const results = field(view.data, "results");
  if (isJsonObject(results)) return formatInitialized(results, view.data);
  if (view.failure !== undefined) return formatFailure(view);
  const { data } = view;
  if (Array.isArray(field(data, "sessions"))) return formatSessions(listField(data, "sessions"));
  const facts = Object.entries(isJsonObject(data) ? data : {})
    .filter(([name, value]) => name !== "message" && value !== null && value !== "")
    .map(
      ([name, value]) =>
        `${name.replaceAll("_", " ")}: ${typeof value === "object" ? JSON.stringify(value) : String(value)}`,
    );
  return lines(textField(data, "message") || `${view.tool}: done`, ...facts);
}

function formatSessions(sessions: readonly unknown[]): string {
  if (sessions.length === 0) return "[No sessions]";
  return lines(
    ...sessions.map((session) => {
      const expires = textField(session, "expires_at");
      const until = expires === "" ? "" : `, expires ${expires}`;
      const name = textField(session, "session_name") || textField(session, "session_id");
      return `${textField(session, "resource_type")}: ${name} (${textField(session, "status")}${until})`;
    }),
  );
}

function formatInitialized(results: Readonly<Record<string, unknown>>, data: unknown): string {
  const total = field(data, "total") ?? Object.keys(results).length;
  return lines(
    `${toText(field(data, "success_count") ?? 0)} of ${toText(total)} resources initialised`,
    ...Object.entries(results).map(([resource, result]) => {
      const error = field(result, "error");
      const state =
        textField(result, "session_id") || textField(result, "session_status") || textField(result, "status");
      return error === null || error === undefined ? `${resource}: ${state}` : `${resource}: [Error] ${toText(error)}`;
    }),
  );
}
