import { ToolyardError } from "../../core/errors.ts";
import { WarmupRequest } from "../../core/protocol.ts";
import type { Engine } from "../../engine/engine.ts";
import { demand } from "../auth/identity.ts";
import { checkName } from "../caller.ts";
import { type AnyRoute, route } from "../route.ts";

/** Backends that prepare something before their first session. */
export function warmupRoutes({ catalog, router }: Engine): readonly AnyRoute[] {
  const isWarm = (name: string) => router.lifecycle(name)?.warm ?? false;
  const summarize = (names: readonly string[]) => {
    const warm = names.filter(isWarm).length;
    return { total: names.length, warmed_up: warm, pending: names.length - warm };
  };
  return [
    route({
      method: "post",
      path: "/api/v1/warmup",
      access: "session",
      operation: "warmup",
      summary: "Warm backends up, all of them by default",
      body: WarmupRequest,
      badBody: "unprocessable",
      enveloped: false,
      async handle({ body, identity }) {
        const names = body.backends?.map((name) => checkName("backends", name)) ?? [...catalog.mounts.keys()];
        for (const name of names) demand(identity, "session", name);
        const errors = new Map<string, string>();
        await Promise.all(
          names.map(async (name) => {
            const lifecycle = router.lifecycle(name);
            if (lifecycle === undefined) errors.set(name, `No backend is mounted as ${name}`);
            else await lifecycle.warmUp().catch((error: unknown) => errors.set(name, describe(error)));
          }),
        );
        return {
          status: 200,
          body: {
            status: errors.size === 0 ? "success" : "partial_error",
            results: Object.fromEntries(names.map((name) => [name, !errors.has(name)])),
            summary: summarize(names),
            ...(errors.size > 0 && { errors: Object.fromEntries(errors) }),
          },
        };
      },
    }),
    route({
      method: "get",
      path: "/api/v1/warmup/status",
      access: "key",
      operation: "warmup:status",
      summary: "Tell which backends are warm",
      enveloped: false,
      handle() {
        const names = [...catalog.mounts.keys()];
        return {
          status: 200,
          body: {
            backends: Object.fromEntries(names.map((name) => [name, { loaded: true, warmed_up: isWarm(name) }])),
            summary: summarize(names),
          },
        };
      },
    }),
  ];
}

function describe(error: unknown): string {
  return ToolyardError.is(error) ? error.message : "warmup failed";
}
