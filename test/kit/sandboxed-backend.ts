import { Backend } from "../../src/core/backend.ts";
import type { ToolContext } from "../../src/core/context.ts";
import type { SandboxInstance } from "../../src/core/runtime.ts";
import type { Session } from "../../src/core/session.ts";
import { tool } from "../../src/core/tool.ts";

/** What the sandboxes of the backend can do. */
export type SandboxedOptions = Partial<Pick<SandboxInstance, "connect" | "files">> & {
  /** Makes each session's own abilities in place of shared ones. */
  readonly each?: (session: string) => Partial<SandboxInstance>;
};

/** A backend whose sessions have a sandbox that is made of what the test gives. */
export class SandboxedBackend extends Backend<SandboxInstance> {
  readonly resource = "box";
  override readonly concurrency = "parallel";
  /** The sessions that were cleaned up, in order. */
  readonly cleaned: string[] = [];
  onUse: (context: ToolContext<SandboxInstance>) => unknown = () => null;
  readonly #options: SandboxedOptions;

  constructor(options: SandboxedOptions = {}) {
    super({ config: {} });
    this.#options = options;
  }

  override initialize({ sessionId }: { readonly sessionId: string }): Promise<SandboxInstance> {
    const { each, ...shared } = this.#options;
    return Promise.resolve({
      id: sessionId,
      runtime: "test",
      isolation: "none",
      openKernel: () => Promise.reject(new Error("the test's sandbox has no kernels")),
      stop: () => Promise.resolve(),
      closed: new Promise(() => undefined),
      ...shared,
      ...each?.(sessionId),
    });
  }

  override cleanup({ id }: Session<SandboxInstance>): Promise<void> {
    this.cleaned.push(id);
    return Promise.resolve();
  }

  override sandbox({ data }: Session<SandboxInstance>): SandboxInstance {
    return data;
  }

  @tool({ description: "Does what the test says." })
  async use(_: object, context: ToolContext<SandboxInstance>): Promise<null> {
    await this.onUse(context);
    return null;
  }
}
