import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/context.ts";
import type { Store } from "../core/store.ts";
import type { TerminalRecordings } from "../core/terminal-recordings.ts";
import { Engine } from "../engine/engine.ts";
import type { EngineLimits } from "../engine/limits.ts";
import type { Mount } from "../engine/mount.ts";
import { createMemoryStore } from "../store/memory/memory-store.ts";
import { createApp } from "./app.ts";
import { CrossingWatch } from "./auth/crossing-watch.ts";
import { createSecurity, type SecurityOptions } from "./auth/security.ts";
import { Cors, type CorsOptions, defaultCors } from "./cors.ts";
import { Front } from "./front.ts";
import type { HttpLimits } from "./http-limits.ts";
import { type Listening, listen } from "./listen.ts";
import type { OpenApiInfo } from "./openapi.ts";
import { apiRoutes } from "./api-routes.ts";
import type { RuntimeReport } from "./routes/health.ts";
import { HostGuard } from "./guard.ts";
import { createDataPlane, planeRoutes } from "./planes/data-plane.ts";
import { desktopsPlane } from "./planes/desktops/desktops-plane.ts";
import { streamUrls } from "./planes/desktops/stream-urls.ts";
import type { Plane } from "./planes/plane.ts";
import { terminalsPlane } from "./planes/terminals/terminals-plane.ts";
import { PortsOrigin } from "./planes/ports/port-address.ts";
import type { ExposedPorts } from "../engine/session-ports.ts";
import { RouteRunner } from "./route-runner.ts";
import { StraightRoutes } from "./straight.ts";
import { StreamClients } from "./stream-clients.ts";
import { docsRoutes } from "./routes/docs.ts";

export interface ServerOptions {
  readonly mounts: readonly Mount[];
  readonly limits: EngineLimits;
  readonly http: HttpLimits;
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly logger: Logger;
  readonly info: OpenApiInfo;
  /** The folder that `init/from-config` may read. */
  readonly configDir: string;
  readonly allowedHosts?: readonly string[];
  readonly allowedOrigins?: readonly string[];
  readonly cors?: CorsOptions;
  /** Keys and rate limits; by default callers need a key as soon as the store holds one. */
  readonly security?: SecurityOptions;
  /** Where state is kept; in memory by default. Whoever opened it closes it, once the server has stopped. */
  readonly store?: Store;
  readonly clock?: Clock;
  /** Keeps what terminals show; whoever made it closes it, once the server has stopped. */
  readonly recordings?: TerminalRecordings | undefined;
  readonly runtimes?: RuntimeReport;
  /** `http://*.localhost`: where each exposed port has an origin of its own; by default all are under `/ports/`. */
  readonly portsOrigin?: string | undefined;
  /** Further WebSocket paths. */
  readonly planes?: (engine: Engine) => readonly Plane[];
}

/** A server that runs: where it is, and how it ends. */
export interface RunningServer {
  readonly url: string;
  readonly port: number;
  readonly engine: Engine;
  /** Whether callers need an API key from the start. */
  readonly asksForKeys: boolean;
  /** Lets calls end by the drain deadline (at once with `force`), cleans every session up, closes the port; idempotent. */
  stop(options?: { readonly force?: boolean }): Promise<void>;
  /** Resolves once it has stopped, whoever stopped it. */
  readonly stopped: Promise<void>;
}

/** How long answers that are being written may take once everything else is over. */
const CLOSE_GRACE_MS = 2_000;

/**
 * Starts an engine behind an HTTP port.
 *
 * @throws UnsafeStartError when it would stand open; TypeError when two tools have one name; Error with Node's code when the address cannot be had.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { mounts, limits, logger, clock } = options;
  const { store = createMemoryStore(), allowedOrigins = [] } = options;
  const security = await createSecurity(options.security ?? {}, {
    store,
    logger,
    clock,
    host: options.host,
    allowedOrigins,
  });
  const { recordings } = options;
  const engine = new Engine({ mounts, limits, store, logger, recordings, ...(clock !== undefined && { clock }) });
  const clients = new StreamClients(limits.streamClients);
  const planes = [
    ...terminalsPlane(engine, clients),
    ...desktopsPlane(engine, clients),
    ...(options.planes?.(engine) ?? []),
  ];
  const routes = [
    ...apiRoutes(engine, security, { ...options, store, clients, stop: () => void stop() }),
    ...planeRoutes(planes),
  ];
  const guard = new HostGuard({ host: options.host, allowedHosts: options.allowedHosts ?? [], allowedOrigins });
  const cors = new Cors(options.cors ?? defaultCors, allowedOrigins);
  const served = [...routes, ...docsRoutes(routes, engine.catalog, options.info)];
  const front = new Front({ routes: served, guard, door: security.door, logger });
  const crossings = new CrossingWatch((id) => engine.tenantOf(id), security.audit);
  const runner = new RouteRunner({
    streams: security.streams,
    crossings,
    limits: options.http,
    logger,
  });
  const straight = new StraightRoutes({ routes: served, runner, front });
  const fetch = createApp({ routes: served, runner, front, guard, cors, logger });
  const origin = options.portsOrigin === undefined ? undefined : new PortsOrigin(options.portsOrigin);
  const doors = { ...security, guard, clients, crossings, limits: options.http, logger };
  const plane = createDataPlane({ ...doors, engine, planes, origin });
  // Before the port opens, so that nobody meets a server that does not know yet what it had.
  await engine.recover();
  const where = { host: options.host, port: options.port };
  const listening = await listen(fetch, { ...where, limits: options.http, plane, straight });
  engine.ports.toUrl = portUrls(listening, origin);
  engine.desktops.toStreamUrl = streamUrls(engine, security.tickets, listening.url);
  engine.start();

  const stopped = Promise.withResolvers<void>();
  let stopping: Promise<void> | undefined;
  const stop = (how: { readonly force?: boolean } = {}): Promise<void> => {
    if (stopping !== undefined && how.force === true) void engine.stop(how);
    stopping ??= stopAll(engine, listening, how)
      .then(() => security.audit.close())
      .finally(stopped.resolve);
    return stopping;
  };
  const { url, port } = listening;
  return { url, port, engine, asksForKeys: security.door.required, stop, stopped: stopped.promise };
}

/** Says where an exposed port is found. */
function portUrls({ url, port: ownPort }: Listening, origin: PortsOrigin | undefined): ExposedPorts["toUrl"] {
  return ({ id, sessionId, port, ticket }) => {
    const place = origin?.of(id, ownPort) ?? `${url}/ports/${encodeURIComponent(sessionId)}/${port}`;
    return `${place}/?ticket=${ticket}`;
  };
}

async function stopAll(engine: Engine, listening: Listening, how: { readonly force?: boolean }): Promise<void> {
  // The engine's own timers do not keep the process alive, and it must live until the last cleanup is over.
  const alive = setInterval(() => undefined, 1_000);
  try {
    await engine.stop(how);
    await listening.close(CLOSE_GRACE_MS);
  } finally {
    clearInterval(alive);
  }
}
