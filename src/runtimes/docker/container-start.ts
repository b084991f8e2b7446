import type Docker from "dockerode";
import type { Duplex } from "node:stream";
import { ToolyardError } from "../../core/errors.ts";
import { examine } from "./container-keeper.ts";
import { type ContainerPlan, toContainerOptions } from "./container-options.ts";
import { type EngineClient, DEADLINES_MS } from "./engine-client.ts";
import type { SessionSocket } from "./session-socket.ts";

const MAX_COMPLAINTS = 4096;
// On a crowded machine a hundred interpreters start at once.
const CONNECT_MS = 60_000;

/**
 * Makes and starts a container.
 *
 * @param watch attaches to what it writes, for the first container of an image, whose start may fail for its own reasons.
 * @returns its id, and what it complained of. @throws EngineFailure
 */
export async function startContainer(
  engine: EngineClient,
  plan: ContainerPlan,
  { watch }: { readonly watch: boolean },
): Promise<{ readonly id: string; readonly complaints: () => string }> {
  const creation = { what: `creating the container ${plan.name}`, deadlineMs: DEADLINES_MS.create };
  const container = await engine.call(creation, (docker, abortSignal) =>
    docker.createContainer({ ...toContainerOptions(plan), abortSignal }),
  );
  // What it says is good to have, no more.
  const complaints = watch ? await listen(engine, container).catch(() => () => "") : () => "";
  const start = { what: `starting the container ${plan.name}`, deadlineMs: DEADLINES_MS.start };
  await engine.call(start, (_docker, abortSignal) => container.start({ abortSignal }));
  return { id: container.id, complaints };
}

/**
 * Waits for the supervisor to connect.
 *
 * @throws ToolyardError `runtime_unavailable` when the container ends before, or takes too long.
 */
export async function awaitSupervisor(
  engine: EngineClient,
  socket: SessionSocket,
  started: { readonly id: string; readonly complaints: () => string },
  signal: AbortSignal,
  connectMs = CONNECT_MS,
): Promise<Duplex> {
  const over = new AbortController();
  const end = watchEnd(engine, started.id, over.signal).then(async () => {
    const { exitCode } = await examine(engine, started.id);
    throw toStartFailure(`its first process ended with ${exitCode}`, started.complaints());
  });
  // Also when the supervisor wins.
  end.catch(() => {});
  const timer = setTimeout(() => over.abort(), connectMs);
  try {
    return await Promise.race([socket.connected(AbortSignal.any([signal, over.signal])), end]);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (over.signal.aborted) throw toStartFailure("its supervisor did not connect in time", started.complaints());
    throw error;
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}

/** Resolves when a container runs no more; never, when the signal fires before or the engine fails. */
function watchEnd(engine: EngineClient, container: string, signal: AbortSignal): Promise<void> {
  const call = {
    what: `watching the container ${container}`,
    deadlineMs: CONNECT_MS * 2,
    signal,
    mayWait: true,
  } as const;
  return new Promise((resolve) => {
    engine
      .call(call, (docker, abortSignal) =>
        docker.getContainer(container).wait({ condition: "not-running", abortSignal }),
      )
      .then(() => resolve())
      .catch(() => {});
  });
}

async function listen(engine: EngineClient, container: Docker.Container): Promise<() => string> {
  let complaints = "";
  const call = { what: "attaching to a container", deadlineMs: DEADLINES_MS.look };
  const stream = await engine.call(call, (_docker, abortSignal) =>
    container.attach({ stream: true, stdout: true, stderr: true, abortSignal }),
  );
  stream.on("error", () => {});
  stream.on("data", (chunk: Buffer) => {
    // The headers between the streams are control characters, which no reader needs.
    // oxlint-disable-next-line no-control-regex
    const text = chunk.toString("utf8").replace(/[\0-\x08]/g, "");
    complaints = (complaints + text).slice(0, MAX_COMPLAINTS);
  });
  return () => complaints.trim();
}

function toStartFailure(reason: string, complaints: string): ToolyardError {
  return new ToolyardError("runtime_unavailable", `the docker sandbox did not start: ${reason}`, {
    suggestion: "The server's log has what it complained of; the image may be broken.",
    ...(complaints !== "" && { cause: new Error(complaints) }),
  });
}
