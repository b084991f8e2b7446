import type { ToStreamUrl } from "../../../engine/desktops/desktops.ts";
import type { Engine } from "../../../engine/engine.ts";
import { toReader } from "../../auth/identity.ts";
import type { TicketBox } from "../../auth/ticket-box.ts";
import { toPlanePurpose } from "../upgrades.ts";

export const DESKTOP_OPERATION = "desktop:connect";

/** Says where a session's desktop is watched, with a ticket that opens that and nothing else, once. */
export function streamUrls({ limits }: Pick<Engine, "limits">, tickets: TicketBox, serverUrl: string): ToStreamUrl {
  return ({ id }, { tenant, keyId = null, scopes }, { viewOnly, ttlMs, resize }) => {
    const identity = { tenant, keyId, scopes };
    const lifeMs = Math.min(ttlMs ?? limits.streamTicketMs, limits.maxStreamTicketMs);
    const purpose = toPlanePurpose(DESKTOP_OPERATION, id);
    const { ticket, expiresAt } = tickets.issue(viewOnly ? toReader(identity) : identity, purpose, lifeMs);
    const query = new URLSearchParams({ ticket });
    // Where no key is asked for, tickets are not looked at.
    if (viewOnly) query.set("view", "true");
    if (resize === true && !viewOnly) query.set("resize", "true");
    const path = `/ws/vnc/${encodeURIComponent(id)}?${query}`;
    return { url: serverUrl.replace(/^http/, "ws") + path, path, ticket, viewOnly, expiresAt };
  };
}
