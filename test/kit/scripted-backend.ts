import { z } from "zod";
import { Backend } from "../../src/core/backend.ts";
import type { SessionRequest, ToolContext } from "../../src/core/context.ts";
import type { Session } from "../../src/core/session.ts";
import { type Input, tool } from "../../src/core/tool.ts";

const Anything = z.looseObject({});
const Point = z.strictObject({ x: z.int(), label: z.string().min(2).optional() });

/** What a test makes a tool do; the session is there when the backend keeps sessions. */
export type Script = (
  params: Readonly<Record<string, unknown>>,
  context: ToolContext<Record<string, unknown>>,
) => unknown;

/** A backend whose tools run what a test says, with sessions or without. */
export class ScriptedBackend extends Backend<Record<string, unknown>> {
  readonly resource: string;
  override readonly concurrency: "serial" | "parallel";
  /** What `probe` does. */
  script: Script = () => ({});
  readonly made: SessionRequest[] = [];
  readonly cleaned: Session<unknown>[] = [];

  constructor(
    options: {
      readonly resource?: string;
      readonly sessions?: boolean;
      readonly concurrency?: "serial" | "parallel";
      readonly script?: Script;
    } = {},
  ) {
    super({ config: {} });
    this.resource = options.resource ?? "probe";
    this.concurrency = options.concurrency ?? "serial";
    if (options.script !== undefined) this.script = options.script;
    if (options.sessions !== true) return;
    this.initialize = async (request) => {
      this.made.push(request);
      return {};
    };
    this.cleanup = async (session) => void this.cleaned.push(session);
  }

  @tool({ description: "Do what the test says.", params: Anything })
  probe(params: Input<typeof Anything>, context: ToolContext<Record<string, unknown>>): unknown {
    return this.script(params, context);
  }

  @tool({ description: "Say it again.", params: Anything })
  echo(params: Input<typeof Anything>): unknown {
    return params;
  }

  @tool({ description: "Take a point.", params: Point })
  plot(params: Input<typeof Point>): unknown {
    return params;
  }

  @tool({ description: "Not listed.", hidden: true })
  secret(): unknown {
    return { found: true };
  }
}
