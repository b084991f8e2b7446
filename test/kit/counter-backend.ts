import { z } from "zod";
import { Backend } from "../../src/core/backend.ts";
import type { LifecycleContext, SessionRequest, ToolContext } from "../../src/core/context.ts";
import type { Session } from "../../src/core/session.ts";
import { type Input, tool } from "../../src/core/tool.ts";
import { Gate } from "./gate.ts";

export interface Count {
  value: number;
  alive: boolean;
}

const By = z.object({ by: z.number().default(1) });
const Sleep = z.object({ gate: z.string() });

/** A session backend whose hooks and tools a test opens and fails at will. */
export class CounterBackend extends Backend<Count> {
  readonly resource: string;
  override readonly concurrency: "serial" | "parallel";
  readonly initialized: SessionRequest[] = [];
  readonly cleaned: Session<Count | undefined>[] = [];
  warmups = 0;
  shutdowns = 0;
  /** What the next hooks arrive and wait at; open by default. */
  readonly gates = { warmup: Gate.open(), initialize: Gate.open(), cleanup: Gate.open() };
  onInitialize: ((request: SessionRequest, context: LifecycleContext) => Promise<void>) | undefined;
  onCleanup: ((session: Session<Count | undefined>) => Promise<void>) | undefined;
  onWarmup: (() => Promise<void>) | undefined;
  readonly holds = new Map<string, Gate>();

  constructor(options: { readonly resource?: string; readonly concurrency?: "serial" | "parallel" } = {}) {
    super({ config: {} });
    this.resource = options.resource ?? "counter";
    this.concurrency = options.concurrency ?? "parallel";
  }

  override async warmup() {
    this.warmups += 1;
    this.gates.warmup.arrive();
    await this.gates.warmup.passed;
    await this.onWarmup?.();
  }

  override async initialize(request: SessionRequest, context: LifecycleContext): Promise<Count> {
    this.initialized.push(request);
    this.gates.initialize.arrive();
    await this.gates.initialize.passed;
    await this.onInitialize?.(request, context);
    return { value: Number(request.config["start"] ?? 0), alive: true };
  }

  override async cleanup(session: Session<Count | undefined>) {
    this.gates.cleanup.arrive();
    await this.gates.cleanup.passed;
    await this.onCleanup?.(session);
    this.cleaned.push(session);
    if (session.data !== undefined) session.data.alive = false;
  }

  override async shutdown() {
    this.shutdowns += 1;
  }

  /** The gate that `hold` calls of this name wait at. */
  gate(name: string): Gate {
    let gate = this.holds.get(name);
    if (gate === undefined) this.holds.set(name, (gate = new Gate()));
    return gate;
  }

  @tool({ description: "Add.", params: By })
  incr({ by }: Input<typeof By>, { session }: ToolContext<Count>) {
    session.data.value += by;
    return { value: session.data.value };
  }

  @tool({ description: "Read." })
  get(_: object, { session }: ToolContext<Count>) {
    return { value: session.data.value, session_id: session.id, worker_id: session.workerId };
  }

  @tool({ description: "Wait at a gate until the test opens it or the call ends.", params: Sleep })
  async hold({ gate }: Input<typeof Sleep>, { session, signal }: ToolContext<Count>) {
    const at = this.gate(gate);
    at.arrive();
    await at.passedOr(signal);
    return { alive: session.data.alive, value: session.data.value };
  }

  @tool({ description: "Wait at a gate and ignore the signal.", params: Sleep })
  async stubborn({ gate }: Input<typeof Sleep>, { session }: ToolContext<Count>) {
    const at = this.gate(gate);
    at.arrive();
    await at.passed;
    return { alive: session.data.alive };
  }
}
