import { setTimeout } from "node:timers/promises";
import type { EgressDoor } from "../../core/egress.ts";
import type { SandboxInstance } from "../../core/runtime.ts";
import { ContainerKeeper } from "./container-keeper.ts";
import { awaitSupervisor } from "./container-start.ts";
import type { Host } from "./creation.ts";
import { DockerInstance, setFrozen } from "./docker-instance.ts";
import { DEADLINES_MS } from "./engine-client.ts";
import { EngineFailure, isMissing } from "./engine-failure.ts";
import type { DockerHandle } from "./handle.ts";
import { LABELS } from "./labels.ts";
import { SessionFolder } from "./session-folder.ts";
import { SessionSocket } from "./session-socket.ts";

// A supervisor without a host looks for one every second.
const RECONNECT_MS = 20_000;
// What a session holds is worth more than the wait: an engine that starts with the server, or is busy, comes back within this.
const PATIENCE_MS = 60_000;
const AGAIN_MS = 500;

/**
 * Takes up the container of a server that is gone: becomes its owner, listens where its supervisor looks for a host, and
 * waits for it.
 *
 * @returns `null` when it is gone, has ended, or belongs to a living server.
 */
export async function adopt(
  host: Host,
  handle: DockerHandle,
  openDoor: () => EgressDoor | undefined,
  signal: AbortSignal,
): Promise<SandboxInstance | null> {
  const { engine, remover, premises } = host;
  const { container, limits, languages, image } = handle;
  const state = await inspectPatiently(host, handle, signal);
  if (state === null) return null;
  const folder = await SessionFolder.claim(premises.state.path, handle.folder, premises.presence);
  if (folder === null) return null;
  const forget = () => folder.remove();
  const keeper = new ContainerKeeper({ engine, remover, container, forget });
  try {
    const socket = await SessionSocket.listen(folder);
    try {
      if (state.paused) await setFrozen(engine, container, false, signal);
      const channel = await awaitSupervisor(
        engine,
        socket,
        { id: container, complaints: () => "" },
        signal,
        RECONNECT_MS,
      );
      const egress = openDoor();
      const instance = new DockerInstance({
        ...{ engine, container, channel, limits, languages, handle, image },
        id: `docker_${folder.name}`,
        kill: (why) => keeper.kill(why),
        ended: keeper.ended,
        ...(egress && { egress }),
      });
      await instance.ready(signal);
      return instance;
    } finally {
      await socket.close();
    }
  } catch (error) {
    keeper.kill("stopped");
    await keeper.ended;
    if (signal.aborted) throw error;
    return null;
  }
}

/** Looks whether the container runs and is ours; an engine that does not answer yet is asked again, for its silence says nothing of it. */
async function inspectPatiently(
  host: Host,
  handle: DockerHandle,
  signal: AbortSignal,
): Promise<{ readonly paused: boolean } | null> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      // One look after another is the point.
      // oxlint-disable-next-line no-await-in-loop
      return await inspect(host, handle, signal);
    } catch (error) {
      const silent = error instanceof EngineFailure && (error.kind === "timeout" || error.kind === "unreachable");
      if (!silent || performance.now() > giveUpAt) throw error;
      // oxlint-disable-next-line no-await-in-loop
      await setTimeout(AGAIN_MS, undefined, { signal });
    }
  }
}

async function inspect(
  { engine }: Host,
  { container, deployment, folder }: DockerHandle,
  signal: AbortSignal,
): Promise<{ readonly paused: boolean } | null> {
  const call = { what: `looking for the container ${container}`, deadlineMs: DEADLINES_MS.look, signal };
  try {
    const { State: state, Config: config } = await engine.call(call, (docker, abortSignal) =>
      docker.getContainer(container).inspect({ abortSignal }),
    );
    const ours = config.Labels[LABELS.deployment] === deployment && config.Labels[LABELS.folder] === folder;
    return ours && state.Running ? { paused: state.Paused } : null;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
