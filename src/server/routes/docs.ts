import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Catalog } from "../../engine/catalog.ts";
import type { Reply } from "../reply.ts";
import { createOpenApi, type OpenApiInfo } from "../openapi.ts";
import { type AnyRoute, route } from "../route.ts";

/** `/openapi.json` for machines, `/docs` and `/redoc` for people. */
export function docsRoutes(routes: readonly AnyRoute[], catalog: Catalog, info: OpenApiInfo): readonly AnyRoute[] {
  let document: object | undefined;
  const page = docsPage();
  return [
    route({
      method: "get",
      path: "/docs",
      aliases: ["/redoc"],
      access: "key",
      operation: "docs",
      summary: "Show this API and every tool to people",
      enveloped: false,
      handle: () => page,
    }),
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
            docs: "GET /docs",
          },
        },
      }),
    }),
  ];
}

/** The page may run its own script and read this server, and nothing else. */
function docsPage(): Reply {
  const page = readFileSync(new URL("../docs-page.html", import.meta.url), "utf8");
  const script = /<script>([\s\S]*)<\/script>/.exec(page)?.[1] ?? "";
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; frame-ancestors 'none'`;
  return { status: 200, body: null, page, headers: { "content-security-policy": policy } };
}
