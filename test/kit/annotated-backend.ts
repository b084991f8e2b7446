import { z } from "zod";
import type { ToolContext } from "../../src/core/context.ts";
import { type Input, tool } from "../../src/core/tool.ts";
import { ScriptedBackend } from "./scripted-backend.ts";

const Anything = z.looseObject({});
type Context = ToolContext<Record<string, unknown>>;

/** A scripted backend whose tools say what it means to run them again; all do what `script` does. */
export class AnnotatedBackend extends ScriptedBackend {
  @tool({ description: "May run again.", params: Anything, annotations: { idempotentHint: true } })
  again(params: Input<typeof Anything>, context: Context): unknown {
    return this.script(params, context);
  }

  @tool({ description: "Only reads.", params: Anything, annotations: { readOnlyHint: true } })
  read(params: Input<typeof Anything>, context: Context): unknown {
    return this.script(params, context);
  }

  @tool({ description: "Must not run again.", params: Anything, annotations: { destructiveHint: true } })
  destroy(params: Input<typeof Anything>, context: Context): unknown {
    return this.script(params, context);
  }
}
