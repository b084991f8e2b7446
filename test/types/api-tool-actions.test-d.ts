import { expectTypeOf, test } from "vitest";
import type { Sandbox } from "../../src/index.ts";
import type { ActionName } from "../../src/client/action-map.ts";

declare const sandbox: Sandbox;

type Without<P extends string> = Extract<ActionName, `${P}:${string}`> extends `${P}:${infer N}` ? N : never;

test("every tool of the shared backends is an action of the typed client", () => {
  expectTypeOf<Without<"rag">>().toEqualTypeOf<
    "search" | "batch_search" | "stats" | "index" | "delete" | "get" | "list" | "collections"
  >();
  expectTypeOf<Without<"web">>().toEqualTypeOf<
    "search" | "visit" | "image_search" | "reverse_image_search" | "fetch"
  >();
  expectTypeOf<Without<"browser">>().toEqualTypeOf<
    | ("navigate" | "render" | "back" | "forward" | "reload" | "wait_for")
    | ("tabs" | "new_tab" | "select_tab" | "close_tab")
    | ("click" | "hover" | "fill" | "press" | "scroll" | "upload")
    | ("snapshot" | "text" | "markdown" | "screenshot" | "evaluate")
    | ("cookies" | "set_cookies" | "clear_cookies" | "save_state" | "load_state")
    | ("downloads" | "read_download" | "console" | "network")
  >();
  expectTypeOf<Without<"doc">>().toEqualTypeOf<"ingest" | "search" | "read" | "list" | "delete">();
  expectTypeOf<Without<"ds">>().toEqualTypeOf<"inspect_data" | "read_csv" | "query" | "run_python">();
  expectTypeOf<Without<"text2sql">>().toEqualTypeOf<
    "list_databases" | "get_schema" | "execute" | "explain" | "score"
  >();
});

test("their params and results are those of their schemas", () => {
  expectTypeOf(sandbox.execute("rag:search", { query: "x" }))
    .resolves.toHaveProperty("context")
    .toEqualTypeOf<string>();
  expectTypeOf(sandbox.execute("rag:stats")).resolves.toHaveProperty("initialized").toEqualTypeOf<boolean>();
  expectTypeOf(sandbox.execute("web:search", { query: ["x", "y"] })).resolves.toHaveProperty("result");
  expectTypeOf(sandbox.execute("doc:read", { section_ids: "a#1" })).resolves.toHaveProperty("sections");
  expectTypeOf(sandbox.execute("ds:inspect_data")).resolves.toHaveProperty("result").toEqualTypeOf<string>();
  expectTypeOf(sandbox.execute("text2sql:execute", { db_id: "shop", query: "SELECT 1" }))
    .resolves.toHaveProperty("truncated")
    .toEqualTypeOf<boolean>();
  expectTypeOf(sandbox.execute("browser:navigate", { url: "https://example.org" }))
    .resolves.toHaveProperty("status")
    .toEqualTypeOf<number | null>();
  // @ts-expect-error it is called query
  void sandbox.execute("rag:search", { querry: "x" });
  // @ts-expect-error a query is needed
  void sandbox.execute("web:search", {});
  // @ts-expect-error there is no such tool
  void sandbox.execute("text2sql:drop", {});
});
