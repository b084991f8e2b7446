import { z } from "zod";
import { Backend } from "../../src/core/backend.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { type Input, tool } from "../../src/core/tool.ts";

const Run = z.strictObject({ command: z.string().default("true"), mode: z.enum(["plain", "loud"]).default("plain") });

/** A backend of which one tool has another prefix than its resource, as the code backend's `bash:run` has. */
export class ShellBackend extends Backend<{ ran: number }> {
  readonly resource = "box";

  override async initialize() {
    return { ran: 0 };
  }

  @tool({ description: "Run a command.", params: Run, name: "shell:run" })
  run({ command }: Input<typeof Run>, { session }: ToolContext<{ ran: number }>) {
    session.data.ran += 1;
    return { command, ran: session.data.ran, session_id: session.id };
  }

  @tool({ description: "Count the commands." })
  countRuns(_: object, { session }: ToolContext<{ ran: number }>) {
    return { ran: session.data.ran };
  }
}
