import type { Engine } from "../../engine/engine.ts";
import { emitFor } from "../../engine/record-events.ts";
import { download } from "../files/download.ts";
import { remove, upload } from "../files/upload.ts";
import type { HttpLimits } from "../http-limits.ts";
import { type AnyRoute, route } from "../route.ts";
import type { StreamClients } from "../stream-clients.ts";

const PATH = "/api/v1/session/:session_id/files";
const COMMON = {
  400: "What `path` names is no path, or of the wrong kind",
  404: "There is no such session, or nothing at `path`",
  429: "Too many clients transfer files or follow streams",
};

/** Files of a session's sandbox in and out, past the model's context. */
export function fileRoutes(engine: Engine, limits: HttpLimits, clients: StreamClients): readonly AnyRoute[] {
  return [
    route({
      method: "get",
      path: PATH,
      access: "execute",
      ticketPurpose: ":session_id",
      operation: "files:download",
      summary: "Download a file, a stretch of it, or a folder as an archive",
      description:
        "`path` names it; relative paths start at the working folder. `Range` (one range), `If-Range` and `If-None-Match` are understood, and " +
        "HEAD. `format=tar|tar.gz|zip` packs a folder. It is sent as an attachment, unless `inline=true`.",
      enveloped: false,
      binary: { response: "application/octet-stream" },
      queryNames: { path: true, format: false, inline: false },
      statuses: {
        ...COMMON,
        206: "The range",
        304: "It is what `If-None-Match` names",
        416: "There is nothing in the range",
      },
      async handle(request) {
        const leave = clients.enter();
        try {
          return await download(engine, limits, request, leave);
        } catch (error) {
          leave();
          throw error;
        }
      },
    }),
    route({
      method: "put",
      path: PATH,
      access: "execute",
      ticketPurpose: ":session_id",
      operation: "files:upload",
      summary: "Upload a file, or an archive to unpack",
      description:
        "The body is the file; it takes its place whole or not at all, and missing folders are made. `mode` is octal; `exclusive=true` (or " +
        "`If-None-Match: *`) refuses to replace. `extract=tar|tar.gz|zip` unpacks the body into the folder `path`, all or nothing.",
      enveloped: true,
      binary: { request: "application/octet-stream" },
      queryNames: { path: true, mode: false, exclusive: false, extract: false },
      statuses: {
        ...COMMON,
        201: "Made anew",
        409: "There is something already",
        413: "Larger than `limits.upload_bytes`",
      },
      async handle(request) {
        const leave = clients.enter();
        try {
          return await upload(engine, limits, request);
        } finally {
          leave();
        }
      },
    }),
    route({
      method: "delete",
      path: PATH,
      access: "execute",
      operation: "files:delete",
      summary: "Delete a file, or with `recursive=true` a folder; says whether there was one",
      enveloped: true,
      queryNames: { path: true, recursive: false },
      statuses: COMMON,
      handle: (request) =>
        remove(engine, request, ({ loan }, path) => emitFor(engine, "file.deleted", loan.record, { path })),
    }),
  ];
}
