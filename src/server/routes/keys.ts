import { z } from "zod";
import { MAX_NAME_LENGTH } from "../../core/protocol.ts";
import type { Security } from "../auth/security.ts";
import { succeed } from "../reply.ts";
import { type AnyRoute, route } from "../route.ts";

const LONGEST_S = 10 * 366 * 86_400;

const CreateRequest = z.object({
  name: z.string().max(MAX_NAME_LENGTH),
  tenant: z.string().max(MAX_NAME_LENGTH).nullish(),
  scopes: z.array(z.string().max(MAX_NAME_LENGTH)).nullish(),
  /** Seconds from now; never by default. */
  expires_in: z.number().positive().max(LONGEST_S).nullish(),
});

const RotateRequest = z.object({
  /** Seconds that the old key stays good; an hour by default. */
  grace: z.number().min(0).max(LONGEST_S).nullish(),
});

/** The keys of all tenants, for keys that may run the server. */
export function keyRoutes({ keys, door, onKeyCreated, onKeyChanged }: Security): readonly AnyRoute[] {
  return [
    route({
      method: "post",
      path: "/api/v1/keys",
      access: "server:admin",
      operation: "keys:create",
      summary: "Make an API key",
      description:
        "The answer holds the key itself, this once. The first key of an open server closes it to all others.",
      body: CreateRequest,
      enveloped: true,
      async handle({ body, identity }) {
        const created = await keys.create(
          {
            name: body.name,
            tenant: body.tenant ?? undefined,
            scopes: body.scopes ?? undefined,
            expiresInMs: typeof body.expires_in === "number" ? body.expires_in * 1000 : undefined,
          },
          identity,
        );
        const wasOpen = !door.required;
        onKeyCreated();
        return succeed({ operation: "keys:create" }, { ...created, closes_server: wasOpen && door.required });
      },
    }),
    route({
      method: "get",
      path: "/api/v1/keys",
      access: "server:admin",
      operation: "keys:list",
      summary: "List the API keys, without their secrets",
      enveloped: true,
      async handle() {
        const list = await keys.list();
        return succeed({ operation: "keys:list" }, { keys: list, count: list.length });
      },
    }),
    route({
      method: "post",
      path: "/api/v1/keys/:id/revoke",
      access: "server:admin",
      operation: "keys:revoke",
      summary: "End an API key for good",
      enveloped: true,
      statuses: { 404: "There is no key of this id" },
      async handle({ path, identity }) {
        const id = path["id"] ?? "";
        const revoked = await keys.revoke(id, identity);
        onKeyChanged(id);
        return succeed({ operation: "keys:revoke" }, revoked);
      },
    }),
    route({
      method: "post",
      path: "/api/v1/keys/:id/rotate",
      access: "server:admin",
      operation: "keys:rotate",
      summary: "Make a key's successor; the old one stays good for the grace",
      body: RotateRequest,
      enveloped: true,
      statuses: { 404: "There is no key of this id", 409: "It was revoked, or has expired" },
      async handle({ path, body, identity }) {
        const id = path["id"] ?? "";
        const successor = await keys.rotate(
          id,
          identity,
          typeof body.grace === "number" ? body.grace * 1000 : undefined,
        );
        onKeyChanged(id);
        return succeed({ operation: "keys:rotate" }, { ...successor, replaces: id });
      },
    }),
  ];
}
