import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import * as toolyard from "../../src/index.ts";

test("the package exports these names and no others", () => {
  expect(Object.keys(toolyard).toSorted()).toMatchInlineSnapshot(`
    [
      "Backend",
      "ClientError",
      "ConnectionError",
      "ERRORS",
      "HttpServiceClient",
      "Job",
      "ProtocolError",
      "ResultFormatter",
      "Sandbox",
      "ServerEndedError",
      "ServerError",
      "ServerStartError",
      "ToolyardError",
      "formatToolResult",
      "registerFormatter",
      "systemClock",
      "toContentBlocks",
      "tool",
    ]
  `);
});

test("importing the package loads neither the server nor a native module", () => {
  const entry = new URL("../../src/index.ts", import.meta.url).href;
  const program = `
    import { registerHooks } from "node:module";
    const seen = [];
    registerHooks({ load: (url, context, next) => { seen.push(url); return next(url, context); } });
    await import(${JSON.stringify(entry)});
    console.log(JSON.stringify(seen));
  `;
  const output = execFileSync(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", program], {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    encoding: "utf8",
  });
  const loaded: string[] = JSON.parse(output);
  const own = loaded.filter((url) => url.includes("/src/")).map((url) => url.replace(/^.*\/src\/|\?.*$/g, ""));
  expect(own).toContain("client/sandbox.ts");
  expect(own.filter((file) => !/^(index\.ts$|core\/|client\/)/.test(file))).toEqual([]);
  const packages = loaded.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  expect([...new Set(packages)].filter((name) => name !== "tsx").toSorted()).toEqual(["ky", "reflect-metadata", "zod"]);
});
