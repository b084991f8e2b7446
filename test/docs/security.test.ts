import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { testServer } from "../kit/test-server.ts";

const page = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");

/** The paths of a row of the scopes table, as short as the page has them. */
const documented = (needs: string) =>
  page.split("\n").find((line) => line.replaceAll("`", "").startsWith(`| ${needs} `));

const ROWS = {
  anyone: "nothing",
  key: "any key",
  execute: "R:execute",
  session: "R:session",
  read: "R:read",
  "server:read": "server:read",
  "server:admin": "server:admin",
} as const;

it("docs/security.md lists every path under what it needs", async () => {
  await using server = await testServer();
  const { paths }: { paths: Record<string, Record<string, { "x-access": keyof typeof ROWS }>> } = (
    await server.get("/openapi.json")
  ).body as never; // its own shape, checked by what follows
  for (const [path, methods] of Object.entries(paths)) {
    for (const operation of Object.values(methods)) {
      const short = path.replace("/api/v1/", "").replace(/(?:call|job)_id/, "id");
      const known = [
        short,
        short.replace(/^session\//, ""),
        short.replace(/^keys\/.*/, "keys"),
        short.replace(/^\//, ""),
      ];
      const row = documented(ROWS[operation["x-access"]]) ?? "";
      expect([path, operation["x-access"], known.some((name) => row.includes(`\`${name}\``))]).toEqual([
        path,
        operation["x-access"],
        true,
      ]);
    }
  }
});
