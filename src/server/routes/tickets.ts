import { z } from "zod";
import { MAX_NAME_LENGTH } from "../../core/protocol.ts";
import type { TicketBox } from "../auth/ticket-box.ts";
import { toReader } from "../auth/identity.ts";
import { succeed } from "../reply.ts";
import { type AnyRoute, route } from "../route.ts";

const TicketRequest = z.object({
  /** What it opens: `events`, or the id of a session. */
  purpose: z.string().min(1).max(MAX_NAME_LENGTH).default("events"),
  /** Opens it for looking only: whoever has the ticket can do nothing else with it. */
  view_only: z.boolean().default(false),
});

/** One-time tickets for clients that cannot send a header: EventSource and WebSocket in a browser. */
export function ticketRoutes(tickets: TicketBox): readonly AnyRoute[] {
  return [
    route({
      method: "post",
      path: "/api/v1/tickets",
      access: "key",
      operation: "tickets:create",
      summary: "Make a ticket that opens one stream once, within 30 s, as ?ticket=",
      body: TicketRequest,
      enveloped: true,
      handle({ body, identity }) {
        const { ticket, expiresAt } = tickets.issue(body.view_only ? toReader(identity) : identity, body.purpose);
        const data = { ticket, purpose: body.purpose, view_only: body.view_only, expires_at: expiresAt.toISOString() };
        return succeed({ operation: "tickets:create" }, data);
      },
    }),
  ];
}
