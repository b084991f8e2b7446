import { z } from "zod";
import { Backend } from "../../src/core/backend.ts";
import type { SessionRequest, ToolContext } from "../../src/core/context.ts";
import { ToolyardError } from "../../src/core/errors.ts";
import { type Input, tool } from "../../src/core/tool.ts";
import { threadId } from "node:worker_threads";

const Block = z.strictObject({ seconds: z.number() });
const Hold = z.strictObject({ signals: z.instanceof(Int32Array) });
const Config = z.strictObject({ greeting: z.string().default("hi"), size: z.int().default(1) });

interface Box {
  value: number;
}

/** A plugin that does everything a plugin should not. */
export class Unruly extends Backend<Box, z.output<typeof Config>> {
  readonly resource = "unruly";
  override readonly concurrency = "parallel";
  override readonly configSchema = Config;
  #warm = 0;

  override async warmup(): Promise<void> {
    this.#warm += 1;
  }

  override async initialize(request: SessionRequest): Promise<Box> {
    const { signals } = request.config;
    if (signals instanceof Int32Array) await untilReleased(signals);
    return { value: Number(request.config["start"] ?? 0) };
  }

  override async cleanup(): Promise<void> {}

  override async health(): Promise<{ up: boolean }> {
    return { up: true };
  }

  @tool({ description: "Add one." })
  incr(_: unknown, { session }: ToolContext<Box>) {
    session.data.value += 1;
    return { value: session.data.value, warm: this.#warm, thread: threadId, greeting: this.config.greeting };
  }

  @tool({ description: "Yield first, then never." })
  async blockLater(_: unknown, { progress }: ToolContext<Box>) {
    progress({ step: "started" });
    await new Promise((resolve) => setImmediate(resolve));
    for (;;);
  }

  @tool({ description: "Yield for so long, then never.", params: Block })
  async blockAfter({ seconds }: Input<typeof Block>, { progress }: ToolContext<Box>) {
    progress({ step: "started" });
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    for (;;);
  }

  @tool({ description: "Wait for the signal." })
  wait(_: unknown, { signal, progress }: ToolContext<Box>) {
    progress({ step: "waiting" });
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  @tool({ description: "Go on until the test says so, whatever the signal says.", params: Hold })
  async hold({ signals }: Input<typeof Hold>) {
    await untilReleased(signals);
    return { held: true };
  }

  @tool({ description: "Never yield until the test says so.", params: Hold })
  blockUntilReleased({ signals }: Input<typeof Hold>) {
    tellBegun(signals);
    Atomics.wait(signals, 1, 0);
    return { blocked: true };
  }

  @tool({ description: "Leave." })
  exit(): never {
    process.exit(3);
  }

  @tool({ description: "Throw where nobody catches." })
  crash() {
    setImmediate(() => {
      throw new Error("uncaught");
    });
    return new Promise(() => undefined);
  }

  @tool({ description: "Return what cannot be cloned." })
  unsendable() {
    return { run: () => 1 };
  }

  @tool({ description: "Throw a typed error." })
  refuse(): never {
    throw new ToolyardError("invalid_url", "no such place", { details: { url: "x:" }, suggestion: "Go elsewhere." });
  }

  @tool({ description: "Throw a plain error." })
  fail(): never {
    throw new RangeError("plain");
  }

  @tool({ description: "Use everything of the context." })
  async useContext(_: unknown, context: ToolContext<Box>) {
    context.logger.child({ part: "one" }).info({ error: new Error("seen"), run: () => 1 }, "hello");
    context.progress({ percent: 50 });
    context.setOutcome("tool_error");
    const answer = await context.call("other:tool", { a: 1 }, { timeoutMs: 5 });
    const { workerId, tenant, callId, traceId } = context;
    return { answer, workerId, tenant, callId, traceId };
  }
}

/** In memory, since a message would reach a held host no earlier than the host's own. */
function tellBegun(signals: Int32Array): void {
  Atomics.store(signals, 0, 1);
  Atomics.notify(signals, 0);
}

async function untilReleased(signals: Int32Array): Promise<void> {
  tellBegun(signals);
  await Atomics.waitAsync(signals, 1, 0).value;
}

export const notABackend = 1;
