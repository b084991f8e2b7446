import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Backend } from "../../src/core/backend.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { type Input, scanTools, tool } from "../../src/core/tool.ts";

const Click = z.strictObject({ x: z.int(), button: z.enum(["left", "right"]).default("left") });

class Vm extends Backend<{ clicks: number }> {
  readonly resource = "vm";
  override async initialize() {
    return { clicks: 0 };
  }
  @tool({ description: "Click.", params: Click })
  async doubleClick({ x, button }: Input<typeof Click>, { session }: ToolContext<{ clicks: number }>) {
    session.data.clicks += 1;
    return { x, button };
  }
  @tool({ description: "Look.", name: "desktop:look" })
  look() {
    return { seen: true };
  }
  plain() {
    return 1;
  }
}

class Child extends Vm {
  override look() {
    return { seen: false };
  }
}

describe("scanTools", () => {
  it("finds decorated methods only, named in snake case or by their override", () => {
    expect([...scanTools(new Vm({ config: {} })).keys()].sort()).toEqual(["desktop:look", "double_click"]);
  });

  it("keeps a tool whose method a subclass overrides, with the subclass's body", () => {
    const look = scanTools(new Child({ config: {} })).get("desktop:look");
    expect(look?.invoke({}, undefined as never)).toEqual({ seen: false });
  });

  it("refuses two methods of one name", () => {
    class Twice extends Backend {
      readonly resource = "twice";
      @tool({ description: "a", name: "same" })
      one() {}
      @tool({ description: "b", name: "same" })
      two() {}
    }
    expect(() => scanTools(new Twice({ config: {} }))).toThrow(/two methods of Twice are the tool "same"/);
  });

  it("accepts the call shape of TC39 decorators", () => {
    class Plain extends Backend {
      readonly resource = "plain";
      hello() {
        return "hi";
      }
    }
    // What a TC39 runtime does: decorator(method, context).
    tool({ description: "Greet." })(Plain.prototype.hello, { kind: "method", name: "hello" });
    expect([...scanTools(new Plain({ config: {} })).keys()]).toEqual(["hello"]);
  });
});
