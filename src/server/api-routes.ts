import type { Store } from "../core/store.ts";
import type { Engine } from "../engine/engine.ts";
import type { Security } from "./auth/security.ts";
import type { Logger } from "../core/context.ts";
import { ConfigFolder } from "./config-folder.ts";
import type { AnyRoute } from "./route.ts";
import { auditRoutes } from "./routes/audit.ts";
import { callStreamRoutes } from "./routes/call-streams.ts";
import { eventRoutes, sandboxEventRoutes } from "./routes/events.ts";
import { executeRoutes } from "./routes/execute.ts";
import { fileRoutes } from "./routes/files.ts";
import type { HttpLimits } from "./http-limits.ts";
import { sessionAdminRoutes } from "./routes/session-admin.ts";
import { portRoutes } from "./routes/ports.ts";
import { healthRoutes, type RuntimeReport } from "./routes/health.ts";
import { initRoutes } from "./routes/init.ts";
import { jobRoutes } from "./routes/jobs.ts";
import { keyRoutes } from "./routes/keys.ts";
import { lifecycleRoutes } from "./routes/lifecycle.ts";
import { sessionRoutes } from "./routes/session.ts";
import { recordingRoutes } from "./routes/recordings.ts";
import { controlRoutes } from "./routes/control.ts";
import { sandboxRoutes } from "./routes/sandbox.ts";
import { screenshotRoutes } from "./routes/screenshots.ts";
import { shutdownRoutes } from "./routes/shutdown.ts";
import { ticketRoutes } from "./routes/tickets.ts";
import { toolRoutes } from "./routes/tools.ts";
import { warmupRoutes } from "./routes/warmup.ts";
import type { StreamClients } from "./stream-clients.ts";

/** What the routes need beside the engine. */
export interface ApiOptions {
  readonly logger: Logger;
  /** The folder that `init/from-config` may read. */
  readonly configDir: string;
  readonly runtimes?: RuntimeReport;
  readonly store: Store;
  readonly http: HttpLimits;
  readonly clients: StreamClients;
  /** Stops the server, once the answer is on its way. */
  readonly stop: () => void;
}

/** Every path of the API. */
export function apiRoutes(engine: Engine, security: Security, options: ApiOptions): readonly AnyRoute[] {
  const { logger, store, http, clients } = options;
  return [
    ...executeRoutes(engine, clients),
    ...callStreamRoutes(engine, clients),
    ...eventRoutes(engine, clients, logger),
    ...jobRoutes(engine),
    ...lifecycleRoutes(engine),
    ...sessionRoutes(engine),
    ...sessionAdminRoutes(engine),
    ...fileRoutes(engine, http, clients),
    ...portRoutes(engine),
    ...sandboxEventRoutes(engine, clients, logger),
    ...sandboxRoutes(engine),
    ...screenshotRoutes(engine),
    ...controlRoutes(engine),
    ...recordingRoutes(engine),
    ...initRoutes(engine, new ConfigFolder(options.configDir)),
    ...toolRoutes(engine),
    ...warmupRoutes(engine),
    ...healthRoutes(engine, options.runtimes ?? (async () => ({}))),
    ...keyRoutes(security),
    ...ticketRoutes(security.tickets),
    ...auditRoutes(store.audit, security.audit),
    ...shutdownRoutes(engine, security.audit, options.stop),
  ];
}
