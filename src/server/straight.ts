import { getRequestListener } from "@hono/node-server";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Front } from "./front.ts";
import { type Reply, toJson, toResponse } from "./reply.ts";
import type { AnyRoute } from "./route.ts";
import type { RouteRunner } from "./route-runner.ts";

export interface StraightOptions {
  readonly routes: readonly AnyRoute[];
  readonly runner: RouteRunner;
  readonly front: Front;
}

const NO_QUERY = new URLSearchParams();
const NO_NAMES: Readonly<Record<string, string>> = {};

/**
 * Answers plain requests, to a path without names or query and from no web page, straight on Node's own objects.
 *
 * The routes, the front and the runner are the app's; what is left out are the Fetch objects between, which cost a fifth of
 * what a call through a bare Hono route does (`bench/dispatch.ts`). Everything else goes through the app.
 */
export class StraightRoutes {
  readonly #runner: RouteRunner;
  readonly #front: Front;
  readonly #routes = new Map<string, Map<string, AnyRoute>>();

  constructor({ routes, runner, front }: StraightOptions) {
    this.#runner = runner;
    this.#front = front;
    for (const route of routes) {
      const method = route.method.toUpperCase();
      const ofMethod = this.#routes.get(method) ?? new Map<string, AnyRoute>();
      this.#routes.set(method, ofMethod);
      for (const path of [route.path, ...(route.aliases ?? [])]) {
        // The first of a path serves it, as in the app.
        if (!/[:*]/.test(path) && !ofMethod.has(path)) ofMethod.set(path, route);
      }
    }
  }

  /** Whether it answers this request. */
  takes(incoming: IncomingMessage, outgoing: ServerResponse): boolean {
    // Pages of other origins are the app's, which knows their browsers' rules.
    if (incoming.headers.origin !== undefined) return false;
    const route = this.#routes.get(incoming.method ?? "")?.get(incoming.url ?? "");
    if (route === undefined) return false;
    this.#answer(route, incoming, outgoing).then(
      (reply) => this.#write(reply, route, incoming, outgoing),
      (error: unknown) => this.#write(this.#front.refuse(error), route, incoming, outgoing),
    );
    return true;
  }

  async #answer(route: AnyRoute, incoming: IncomingMessage, outgoing: ServerResponse): Promise<Reply> {
    const refused = this.#front.check(incoming);
    if (refused !== undefined) throw refused;
    const known = this.#front.identify(incoming);
    const identity = known instanceof Promise ? await known : known;
    return this.#runner.run(route, { incoming, outgoing, identity, path: NO_NAMES, query: NO_QUERY });
  }

  #write(reply: Reply, route: AnyRoute, incoming: IncomingMessage, outgoing: ServerResponse): void {
    // Beside streams and pages, an answer to a body that nobody read: the listener reads it no longer than for a moment.
    if (reply.stream !== undefined || reply.page !== undefined || !incoming.complete) {
      void getRequestListener(() => toResponse(reply))(incoming, outgoing);
      return;
    }
    try {
      write(reply, outgoing);
    } catch (error) {
      // Such as a batch whose answer is longer than a string may be.
      write(this.#runner.refuse(route, error), outgoing);
    }
  }
}

function write(reply: Reply, outgoing: ServerResponse): void {
  const { text, headers } = toJson(reply);
  outgoing.writeHead(reply.status, { ...headers, "content-length": Buffer.byteLength(text) });
  outgoing.end(text);
}
