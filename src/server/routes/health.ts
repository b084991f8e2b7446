import type { BackendHealth } from "../../core/backend.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Mount } from "../../engine/mount.ts";
import { type AnyRoute, route } from "../route.ts";

/** What the server knows of the places where sandboxes run: up or not, why not, and what to do. */
export type RuntimeReport = () => Promise<Readonly<Record<string, unknown>>>;

const HEALTH_TIMEOUT_MS = 5_000;
/** What this server can do beyond the known protocol, for clients to count on. */
const FEATURES = ["idempotency", "jobs"];

/** Whether the server lives, and what it can do now. */
export function healthRoutes(engine: Engine, runtimes: RuntimeReport): readonly AnyRoute[] {
  const { catalog, router, executor, watchdog, clock } = engine;
  return [
    route({
      method: "get",
      path: "/health",
      access: "anyone",
      operation: "health",
      summary: "Say that the server lives",
      enveloped: false,
      handle: () => ({
        status: 200,
        body: { status: "healthy", timestamp: clock.date().toISOString(), features: FEATURES },
      }),
    }),
    route({
      method: "get",
      path: "/ready",
      access: "key",
      operation: "ready",
      summary: "Say which backends and runtimes are up, and why not",
      enveloped: false,
      statuses: { 503: "The server is stopping" },
      async handle() {
        const backends = await Promise.all(
          [...catalog.mounts.values()].map(
            async (mount) => [mount.resource, await checkBackend(engine, mount)] as const,
          ),
        );
        return {
          status: engine.stopping ? 503 : 200,
          body: {
            status: engine.stopping ? "stopping" : "ready",
            tools_count: catalog.size,
            active_workers: router.workerCount,
            total_sessions: router.sessionCount,
            ending_sessions: router.endingCount,
            leaked_sessions: router.leaked,
            active_calls: executor.activeCount,
            admission: engine.admission.report(),
            backends: Object.fromEntries(backends),
            runtimes: await runtimes(),
            event_loop: { last_block: watchdog.lastBlock ?? null },
          },
        };
      },
    }),
  ];
}

async function checkBackend(engine: Engine, mount: Mount): Promise<BackendHealth & { readonly warm: boolean }> {
  const { backend, resource } = mount;
  const lifecycle = engine.router.lifecycle(resource);
  const warm = lifecycle?.warm ?? false;
  if (lifecycle?.failure !== undefined) return { up: false, warm, reason: lifecycle.failure };
  if (lifecycle === undefined || backend.health === undefined) return { up: true, warm };
  try {
    const health = await lifecycle.run("health", HEALTH_TIMEOUT_MS, async (context) => backend.health?.(context));
    return { ...(health ?? { up: true }), warm };
  } catch (error) {
    return { up: false, warm, reason: ToolyardError.is(error) ? error.message : "its health check failed" };
  }
}
