import type { Catalog } from "../../engine/catalog.ts";
import { createOpenApi, type OpenApiInfo } from "../openapi.ts";
import { type AnyRoute, route } from "../route.ts";

/** `/openapi.json` for machines. */
export function docsRoutes(routes: readonly AnyRoute[], catalog: Catalog, info: OpenApiInfo): readonly AnyRoute[] {
  let document: object | undefined;
  return [
    route({
      method: "get",
      path: "/openapi.json",
      access: "key",
      operation: "openapi",
      summary: "Describe this API and every tool",
      enveloped: false,
      handle() {
        document ??= createOpenApi(routes, catalog, info);
        return { status: 200, body: document };
      },
    }),
    route({
      method: "get",
      path: "/",
      access: "key",
      operation: "index",
      summary: "Say what this is and where to go on",
      enveloped: false,
      handle: () => ({
        status: 200,
        body: {
          name: "toolyard",
          version: info.version,
          try: {
            execute: "POST /execute",
            tools: "GET /api/v1/tools",
            ready: "GET /ready",
            api: "GET /openapi.json",
          },
        },
      }),
    }),
  ];
}
