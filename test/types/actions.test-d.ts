import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { ActionsOf } from "../../src/core/action.ts";
import { Backend } from "../../src/core/backend.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { type Input, tool } from "../../src/core/tool.ts";

const Click = z.strictObject({ x: z.int(), button: z.enum(["left", "right"]).default("left") });

class Vm extends Backend<{ clicks: number }> {
  readonly resource = "vm";
  override async initialize() {
    return { clicks: 0 };
  }
  @tool({ description: "Click.", params: Click })
  async doubleClick({ x, button }: Input<typeof Click>, _context: ToolContext<{ clicks: number }>) {
    expectTypeOf(button).toEqualTypeOf<"left" | "right">();
    return { x };
  }
  @tool({ description: "Look.", name: "desktop:look" })
  look() {
    return { seen: true };
  }
}

type Actions = ActionsOf<Vm, "vm", { look: "desktop:look" }>;

test("an action's name, params and result follow from the decorated class", () => {
  expectTypeOf<keyof Actions>().toEqualTypeOf<"vm:double_click" | "desktop:look">();
  expectTypeOf<Actions["vm:double_click"]["result"]>().toEqualTypeOf<{ x: number }>();
  expectTypeOf<Actions["desktop:look"]["result"]>().toEqualTypeOf<{ seen: boolean }>();
});

test("a default in the schema is optional for the caller, and only for the caller", () => {
  expectTypeOf<{ x: number }>().toExtend<Actions["vm:double_click"]["params"]>();
  expectTypeOf<Actions["vm:double_click"]["params"]>().toEqualTypeOf<{
    x: number;
    button?: "left" | "right" | undefined;
  }>();
});

test("@tool refuses a method whose params its schema does not give", () => {
  class Wrong extends Backend {
    readonly resource = "wrong";
    // @ts-expect-error x is a number in the schema
    @tool({ description: "", params: Click })
    click(_: { x: string }) {}
  }
  expectTypeOf<Wrong>().toExtend<Backend>();
});
