import type { IncomingMessage } from "node:http";
import type { Logger } from "../core/context.ts";
import { ToolyardError } from "../core/errors.ts";
import type { Doorkeeper } from "./auth/doorkeeper.ts";
import { ANYONE, type Identity } from "./auth/identity.ts";
import type { HostGuard } from "./guard.ts";
import { createPathMatcher } from "./path-matcher.ts";
import { refusal } from "./refusal.ts";
import type { Reply } from "./reply.ts";
import type { AnyRoute } from "./route.ts";

export interface FrontOptions {
  readonly routes: readonly AnyRoute[];
  readonly guard: HostGuard;
  readonly door: Doorkeeper;
  readonly logger: Logger;
}

/** Lets a request through to the routes once its host, its origin and its key are found good. */
export class Front {
  readonly #options: FrontOptions;
  readonly #openPaths: ReadonlySet<string>;
  readonly #purposeOf: (method: string, path: string) => string | undefined;

  constructor(options: FrontOptions) {
    this.#options = options;
    const open = options.routes.filter(({ access }) => access === "anyone");
    this.#openPaths = new Set(open.map(({ path }) => path));
    this.#purposeOf = toPurposes(options.routes);
  }

  /** Says why the request may not even be looked at, if so. */
  check(incoming: IncomingMessage): ToolyardError | undefined {
    return this.#options.guard.check(incoming);
  }

  /**
   * Tells who calls; at once wherever it can.
   *
   * @throws ToolyardError as the doorkeeper does.
   */
  identify(incoming: IncomingMessage): Identity | Promise<Identity> {
    const { door } = this.#options;
    if (door.open) return ANYONE;
    const { url = "/", method = "" } = incoming;
    const path = pathOf(url);
    if (this.#openPaths.has(path)) return ANYONE;
    const allowTicket = path.length === url.length ? undefined : this.#purposeOf(method, path);
    return door.authenticate(incoming, { allowTicket });
  }

  /** Says in HTTP why somebody is not let in. */
  refuse(error: unknown): Reply {
    if (ToolyardError.is(error)) return refusal("http", error);
    this.#options.logger.error({ err: error }, "a request could not be authenticated");
    const failed = new ToolyardError("dependency_failed", "The API key could not be checked", { cause: error });
    return refusal("http", failed);
  }
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

/** Finds what a ticket must be for to open a path. */
function toPurposes(routes: readonly AnyRoute[]): (method: string, path: string) => string | undefined {
  const finders = new Map<string, ReturnType<typeof createPathMatcher<AnyRoute>>>();
  for (const method of ["get", "put"]) {
    const streams = routes.filter((route) => route.method === method && route.ticketPurpose !== undefined);
    finders.set(method, createPathMatcher(streams));
  }
  return (method, path) => {
    const found = finders.get(method === "HEAD" ? "get" : method.toLowerCase())?.(path);
    const purpose = found?.value.ticketPurpose;
    return purpose?.startsWith(":") === true ? found?.names[purpose.slice(1)] : purpose;
  };
}
