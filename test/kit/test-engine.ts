import type { AnyBackend } from "../../src/core/backend.ts";
import type { Store } from "../../src/core/store.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { CallRequest } from "../../src/engine/call.ts";
import { Cancellation, type CancelSource } from "../../src/engine/deadline.ts";
import { Engine } from "../../src/engine/engine.ts";
import { defaultLimits, type EngineLimits } from "../../src/engine/limits.ts";
import type { CreateRequest } from "../../src/engine/session-request.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { ManualClock } from "./manual-clock.ts";
import { recordingLogger } from "./recording-logger.ts";
import { NEVER_LATE } from "./test-server.ts";

/** An engine on a clock that the test moves. */
export function testEngine(
  backends: readonly AnyBackend[],
  limits: Partial<EngineLimits> = {},
  store: Store = createMemoryStore(),
  clock = new ManualClock(),
) {
  const logger = recordingLogger();
  const engine = new Engine({
    mounts: backends.map((backend) => ({ resource: backend.resource, backend })),
    limits: { ...defaultLimits, ...NEVER_LATE, ...limits },
    logger,
    clock,
    store,
  });
  engine.start();
  const worker = (workerId: string) => ({ tenant: "default", workerId });
  const call = (
    action: string,
    params: Readonly<Record<string, unknown>> = {},
    more: Partial<CallRequest> = {},
  ): Promise<ToolResult> => engine.executor.execute({ caller: worker("w1"), action, params, ...more });
  const create = (resource: string, more: Partial<CreateRequest> = {}, wait: CancelSource = new Cancellation()) =>
    engine.router.create({ ...worker("w1"), resource, config: {}, ...more }, wait);
  return { engine, router: engine.router, clock, logger, worker, call, create };
}
