import { ToolyardError } from "../../core/errors.ts";
import type { EventType } from "../../core/events.ts";
import type { ArchiveFormat, FileInfo, SandboxFiles } from "../../core/sandbox-files.ts";
import type { Engine } from "../../engine/engine.ts";
import { emitFor } from "../../engine/record-events.ts";
import { unable } from "../../engine/sandbox-of.ts";
import type { SandboxLoan } from "../../engine/sandbox-loans.ts";
import { borrowNamed } from "../borrow-named.ts";
import type { RouteRequest } from "../route.ts";

/** The files of a session, borrowed for one request. */
export interface Transfer {
  readonly loan: SandboxLoan;
  readonly files: SandboxFiles;
}

/** How many links a path may lead over. */
const MAX_LINKS = 16;

/** Borrows the files of the session that the path of a request names; the loan must be ended. */
export async function borrowFiles(engine: Engine, request: RouteRequest<unknown>): Promise<Transfer> {
  const loan = await borrowNamed(engine, request, { verb: "execute", client: request.outgoing, kind: "transfer" });
  const { files } = loan.sandbox;
  if (files !== undefined) return { loan, files };
  loan.end();
  throw unable(loan.record, "files");
}

/** Finds what a path leads to, over links. */
export async function follow({ files, loan }: Transfer, path: string): Promise<FileInfo> {
  let at = path;
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    // oxlint-disable-next-line no-await-in-loop -- each link says where the next look goes
    const info = await files.stat(at, loan.signal);
    if (info === null) throw new ToolyardError("path_not_found", `There is nothing at ${path}`);
    if (info.kind !== "symlink" || info.target === undefined) return info;
    at = info.target.startsWith("/") ? info.target : `${at.replace(/[^/]*\/*$/, "")}${info.target}`;
  }
  throw new ToolyardError("path_refused", `Too many links lead from ${path}`);
}

/** Tells the event log what was transferred. */
export function tellTransfer(
  engine: Engine,
  type: Extract<EventType, "file.uploaded" | "file.downloaded">,
  { loan }: Transfer,
  data: {
    readonly path: string;
    readonly bytes: number;
    readonly archive?: string | undefined;
    readonly error?: string | undefined;
  },
): void {
  const { archive, error, path, bytes } = data;
  emitFor(engine, type, loan.record, {
    path,
    bytes,
    ...(archive !== undefined && { archive }),
    ...(error !== undefined && { error }),
  });
}

const FORMATS: readonly string[] = ["tar", "tar.gz", "zip"] satisfies ArchiveFormat[];

/** Reads the name of an archive's format; `undefined` when the query has none. */
export function readFormat(query: URLSearchParams, name: string): ArchiveFormat | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (isFormat(text)) return text;
  throw new ToolyardError("invalid_input", `${name} takes ${FORMATS.join(", ")}`);
}

function isFormat(text: string): text is ArchiveFormat {
  return FORMATS.includes(text);
}

/** Reads a flag of the query. */
export function readFlag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name);
  if (text === null || text === "false" || text === "0") return false;
  if (text === "true" || text === "1" || text === "") return true;
  throw new ToolyardError("invalid_input", `${name} takes true or false`);
}
