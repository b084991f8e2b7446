import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import CodeBackend from "../../../src/backends/code/backend.ts";
import { Catalog } from "../../../src/engine/catalog.ts";

const catalogOf = (resource: string) => new Catalog([{ resource, backend: new CodeBackend({ config: {} }) }]);

describe("the tools of the code backend", () => {
  it("have their prefixes, and five have none", () => {
    const names = catalogOf("code")
      .list()
      .map(({ full_name: name }) => name);
    expect(names.filter((name) => !name.includes(":"))).toEqual([
      "execute_command",
      "list_files",
      "read_file",
      "run_code",
      "write_file",
    ]);
    const prefixes = Map.groupBy(names, (name) => name.split(":")[0] ?? "");
    expect(prefixes.get("code")).toHaveLength(7);
    expect(prefixes.get("bash")).toHaveLength(7);
    expect(prefixes.get("file")).toHaveLength(14);
    expect(prefixes.get("sandbox")).toHaveLength(11);
    expect(prefixes.get("terminal")).toHaveLength(7);
  });

  it("are all in docs/sandboxes.md", () => {
    const page = readFileSync(new URL("../../../docs/sandboxes.md", import.meta.url), "utf8");
    const names = catalogOf("code")
      .list()
      .map(({ full_name: name }) => name);
    expect(names.filter((name) => !page.includes(`\`${name}`))).toEqual([]);
  });

  it("all say what they answer, run in the session, and are not for code that runs in a sandbox", () => {
    for (const tool of catalogOf("code").list()) {
      expect(tool.result, tool.full_name).not.toBeNull();
      expect(tool.stateless, tool.full_name).toBe(false);
      expect(tool.allowed_callers, tool.full_name).toEqual(["direct"]);
      expect(tool.description.length, tool.full_name).toBeGreaterThan(20);
    }
  });

  it("are found by any spelling, and all lie under another name when the backend does", () => {
    const catalog = catalogOf("code");
    expect(catalog.resolve("file.read").fullName).toBe("file:read");
    expect(catalog.resolve("bash_run").fullName).toBe("bash:run");
    expect(catalog.resolve("read_file").fullName).toBe("read_file");
    expect(() => catalog.resolve("run")).toThrow(/bash:run, code:run/);
    const small = catalogOf("small").list();
    expect(small.filter(({ full_name: name }) => !name.startsWith("small:"))).toEqual([]);
    expect(small.map(({ full_name: name }) => name)).toContain("small:file_read");
  });
});
