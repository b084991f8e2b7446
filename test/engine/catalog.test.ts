import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ToolyardError } from "../../src/core/errors.ts";
import { type AnyBackend, Backend } from "../../src/core/backend.ts";
import { tool } from "../../src/core/tool.ts";
import { Catalog } from "../../src/engine/catalog.ts";
import { CounterBackend } from "../kit/counter-backend.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";

class Desktop extends Backend {
  readonly resource: string = "vm";

  override async initialize() {}

  @tool({ description: "Twice." })
  doubleClick() {}

  @tool({ description: "Under another prefix.", name: "shell:run" })
  shell() {}

  @tool({ description: "Once.", result: z.object({ clicked: z.boolean() }), timeoutMs: 500 })
  click() {}
}

class Api extends Backend {
  readonly resource = "api";

  @tool({ description: "No prefix.", name: "echo" })
  echo() {}

  @tool({ description: "Looks like a prefixed one.", name: "vm_click" })
  lookalike() {}
}

const mount = (...backends: AnyBackend[]) =>
  new Catalog(backends.map((backend) => ({ resource: backend.resource, backend })));

const errorOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe("a bare name", () => {
  it("needs no prefix on a backend with sessions, save under another name than its own", () => {
    class Box extends Backend<object> {
      readonly resource = "box";
      override async initialize() {
        return {};
      }
      @tool({ description: "Read.", name: "read_file", bare: true })
      read() {}
      @tool({ description: "Look.", name: "glance" })
      look() {}
    }
    const own = new Catalog([{ resource: "box", backend: new Box({ config: {} }) }]);
    expect(own.list().map(({ full_name: name }) => name)).toEqual(["box:glance", "read_file"]);
    expect(own.resolve("read_file")).toMatchObject({ sessions: true, resourceType: "box" });
    const other = new Catalog([{ resource: "den", backend: new Box({ config: {} }) }]);
    expect(other.list().map(({ full_name: name }) => name)).toEqual(["den:glance", "den:read_file"]);
  });
});

describe("finding a tool by name", () => {
  const catalog = mount(
    new Desktop({ config: {} }),
    new Api({ config: {} }),
    new CounterBackend(),
    new ScriptedBackend(),
  );

  it.each([
    ["vm:double_click", "vm:double_click"],
    ["vm.double_click", "vm:double_click"],
    ["vm_double_click", "vm:double_click"],
    ["vm-double_click", "vm:double_click"],
    ["double_click", "vm:double_click"],
    ["shell:run", "shell:run"],
    ["shell.run", "shell:run"],
    ["run", "shell:run"],
    ["vm_click", "vm:click"],
    ["incr", "counter:incr"],
  ])("takes %s for %s", (action, fullName) => {
    expect(catalog.resolve(action).fullName).toBe(fullName);
    // The second time from the map of names that were found.
    expect(catalog.resolve(action).fullName).toBe(fullName);
  });

  it("says which tools an ambiguous name may mean", () => {
    expect(errorOf(() => catalog.resolve("echo"))).toMatchObject({ fullName: "echo" });
    const ambiguous = mount(new CounterBackend(), new CounterBackend({ resource: "other" }));
    expect(errorOf(() => ambiguous.resolve("incr"))).toMatchObject({
      error: "tool_ambiguous",
      code: 4002,
      details: { action: "incr", candidates: ["counter:incr", "other:incr"] },
    });
  });

  it("is case-sensitive, takes a name with a colon as it is, and suggests near names", () => {
    for (const action of [
      "VM:click",
      "vm:doubleClick",
      "vm:double-click",
      "vm:",
      ":click",
      "vm:click:x",
      "vm::click",
    ]) {
      expect(errorOf(() => catalog.resolve(action))).toMatchObject({ error: "tool_not_found", status: 400 });
    }
    expect(errorOf(() => catalog.resolve("vm:clik"))).toHaveProperty("details.suggestions.0", "vm:click");
  });

  it("resolves every registered tool by each of its spellings", () => {
    for (const { full_name: fullName } of catalog.list({ includeHidden: true })) {
      for (const separator of [":", ".", "_", "-"]) {
        const spelled = fullName.replace(":", separator);
        const found = errorOf(() => catalog.resolve(spelled));
        // A tool without a prefix whose own name reads as another one's spelling gives way to it.
        if (fullName !== "vm_click") expect(found).toMatchObject({ fullName });
      }
    }
  });

  it("answers any action at all with a tool or a typed error", () => {
    const anyAction = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string(),
      fc
        .tuple(
          fc.constantFrom("vm", "shell", "counter", "__proto__", "constructor", ""),
          fc.constantFrom(":", ".", "_", "-", "::"),
          fc.constantFrom("click", "double_click", "toString", "__proto__", "constructor", ""),
        )
        .map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(anyAction, (action) => {
        const found = errorOf(() => catalog.resolve(action));
        if (ToolyardError.is(found)) expect(["tool_not_found", "tool_ambiguous"]).toContain(found.error);
        else expect(found).toHaveProperty("fullName");
      }),
      { numRuns: 500 },
    );
  });
});

describe("the catalogue", () => {
  it("refuses two tools of one name and two backends of one resource", () => {
    class Other extends Desktop {
      override readonly resource = "other";
    }
    expect(() => mount(new Desktop({ config: {} }), new Other({ config: {} }))).toThrow('"shell:run" is defined twice');
    expect(() => mount(new CounterBackend(), new CounterBackend())).toThrow('mounted as "counter"');
  });

  it("keeps all tools of a backend that is mounted under another name under that name", () => {
    const desktop = new Desktop({ config: {} });
    const catalog = new Catalog([
      { resource: "vm", backend: desktop },
      { resource: "lab", backend: new Desktop({ config: {} }) },
    ]);
    const names = catalog.list().map((listing) => listing.full_name);
    expect(names).toEqual([
      "lab:click",
      "lab:double_click",
      "lab:shell_run",
      "shell:run",
      "vm:click",
      "vm:double_click",
    ]);
  });

  it("lists a tool with its schemas, and hidden ones only when asked", () => {
    const catalog = mount(new Desktop({ config: {} }), new ScriptedBackend());
    expect(catalog.list().find((listing) => listing.full_name === "vm:click")).toMatchObject({
      name: "click",
      resource_type: "vm",
      stateless: false,
      timeout_ms: 500,
      parameters: { type: "object", properties: {}, additionalProperties: false },
      result: { type: "object", properties: { clicked: { type: "boolean" } } },
    });
    expect(catalog.list().some((listing) => listing.hidden)).toBe(false);
    expect(catalog.list({ includeHidden: true }).filter((listing) => listing.hidden)).toHaveLength(1);
  });
});
