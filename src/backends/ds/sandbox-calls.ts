import type { z } from "zod";
import type { ToolContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";

/** The worker's code session as this backend reaches it: through the tools that the worker itself has. */
export class SandboxCalls {
  readonly #prefix: string;
  readonly #context: ToolContext;

  /** @param mount the name that the code backend is mounted under */
  constructor(mount: string, context: ToolContext) {
    this.#prefix = mount;
    this.#context = context;
  }

  /**
   * Calls a tool of the code backend, `code:run` or `file:list` say.
   *
   * @throws ToolyardError what the tool answered; `dependency_failed` where there is no such tool.
   */
  async call<T>(tool: string, params: Readonly<Record<string, unknown>>, result: z.ZodType<T>): Promise<T> {
    const answer = await this.#context.call(this.#toAction(tool), params);
    if (answer.ok) return result.parse(answer.data);
    const { error, message, details, suggestion, retryable, outcome } = answer.error;
    if (error === "tool_not_found") {
      throw new ToolyardError(
        "dependency_failed",
        `the sandbox is one of the backend "${this.#prefix}", which is not there`,
        {
          suggestion:
            "Mount the code backend in the server's config and name it in the ds backend's `sandbox`, or name `folders` to read from.",
        },
      );
    }
    throw new ToolyardError(error, message, {
      suggestion,
      retryable,
      outcome,
      ...(details !== undefined && { details }),
    });
  }

  /** Under another name than its own all tools of a backend are under that name. */
  #toAction(tool: string): string {
    if (this.#prefix === "code") return tool;
    return tool.startsWith("code:") ? tool.replace("code", this.#prefix) : `${this.#prefix}:${tool.replace(":", "_")}`;
  }
}
