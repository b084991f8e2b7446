import { ToolyardError } from "../../core/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import { borrowNamed } from "../borrow-named.ts";
import { type AnyRoute, route } from "../route.ts";

/** Screenshots that tools answered as links, past the model's context. */
export function screenshotRoutes(engine: Engine): readonly AnyRoute[] {
  return [
    route({
      method: "get",
      path: "/api/v1/sandbox/:session_id/desktop/screenshots/:picture_id",
      access: "read",
      ticketPurpose: ":session_id",
      operation: "sandbox:desktop_screenshot",
      summary: "Fetch a screenshot that was taken as a link",
      description: "One of the latest 16 that a tool of the session answered as `link`; older ones are forgotten.",
      enveloped: false,
      binary: { response: "image/*" },
      statuses: {
        404: "There is no such session, or the picture is forgotten",
        409: "The desktop is stopped",
      },
      async handle({ path, identity, outgoing }) {
        const how = { verb: "read", client: outgoing, kind: "transfer", needs: "desktop" } as const;
        const loan = await borrowNamed(engine, { identity, path }, how);
        try {
          const picture = loan.desktop.picture?.(path["picture_id"] ?? "");
          if (picture === undefined) throw new ToolyardError("unknown_name", "There is no such screenshot any more");
          const { format, bytes } = picture;
          return {
            status: 200,
            body: null,
            headers: {
              "content-type": `image/${format}`,
              "content-length": String(bytes.length),
              "cache-control": "private, no-store",
              "x-content-type-options": "nosniff",
            },
            stream: ReadableStream.from([bytes]) as ReadableStream<Uint8Array>,
          };
        } finally {
          loan.end();
        }
      },
    }),
  ];
}
