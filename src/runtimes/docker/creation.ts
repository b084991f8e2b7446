import type { EgressDoor } from "../../core/egress.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { SandboxInstance, SandboxLimits, SandboxSpec } from "../../core/runtime.ts";
import { toProxyEnvironment } from "../kernel/proxy-environment.ts";
import { ContainerKeeper } from "./container-keeper.ts";
import type { ContainerPlan } from "./container-options.ts";
import type { ContainerRemover } from "./container-remover.ts";
import { awaitSupervisor, startContainer } from "./container-start.ts";
import { DockerInstance } from "./docker-instance.ts";
import type { EngineClient } from "./engine-client.ts";
import type { DockerHandle } from "./handle.ts";
import type { ImageFacts } from "./image-probe.ts";
import { IDLE_COMMAND, PlainInstance } from "./plain-instance.ts";
import type { Premises } from "./premises.ts";
import { SessionFolder } from "./session-folder.ts";
import { SessionSocket } from "./session-socket.ts";
import { toSupervisorCommand } from "./supervisor-command.ts";

/** What containers are started and ended with. */
export interface Host {
  readonly engine: EngineClient;
  readonly remover: ContainerRemover;
  readonly premises: Premises;
}

/** One sandbox to make. */
export interface Creation extends Host {
  readonly facts: ImageFacts;
  readonly limits: Required<SandboxLimits>;
  readonly spec: SandboxSpec;
  readonly labels: (folder: string) => Readonly<Record<string, string>>;
  readonly openDoor: () => EgressDoor | undefined;
  readonly ociRuntime?: string;
  /** How long the container lives without a server. */
  readonly patienceSeconds: number;
}

// Images whose supervisor has been seen to start: of the others, what they write at their start is kept.
const proven = new Set<string>();

/**
 * Starts a container and waits until it can work; whatever was made is removed when that fails.
 *
 * @throws ToolyardError `runtime_unavailable`, `cancelled`; EngineFailure.
 */
export async function createSandbox(creation: Creation, signal: AbortSignal): Promise<SandboxInstance> {
  const { facts, premises, remover } = creation;
  if (facts.programs.python3 === undefined && facts.programs.sh === undefined) {
    throw new ToolyardError("runtime_unavailable", `the image ${facts.name} has neither python3 nor sh to run in`, {
      suggestion: "Choose an image that has one of them.",
    });
  }
  const { network } = creation.spec;
  if (facts.programs.python3 === undefined && network !== undefined && network !== "none" && network.allow.length > 0) {
    throw new ToolyardError(
      "runtime_unavailable",
      `the image ${facts.name} has no python3, without which nothing is reached`,
      {
        suggestion: 'Choose an image that has python3, or the network "none".',
      },
    );
  }
  const folder = await SessionFolder.create(premises.state.path, premises.presence);
  const name = `toolyard-${folder.name}`;
  try {
    if (signal.aborted) throw signal.reason;
    return await (facts.programs.python3 === undefined
      ? createPlain(creation, folder, name, signal)
      : createSupervised(creation, facts.programs.python3, folder, name, signal));
  } catch (error) {
    // By its name: a create whose answer was lost may have made it.
    await remover.remove(name, () => folder.remove());
    if (signal.aborted) throw new ToolyardError("cancelled", "the sandbox's creation was cancelled", { cause: error });
    throw error;
  }
}

async function createSupervised(
  creation: Creation,
  python: string,
  folder: SessionFolder,
  name: string,
  signal: AbortSignal,
): Promise<SandboxInstance> {
  const { engine, remover, facts, limits, premises, spec } = creation;
  // First, since it refuses a list that is none.
  const egress = creation.openDoor();
  const socket = await SessionSocket.listen(folder);
  try {
    const command = toSupervisorCommand(python, creation.patienceSeconds);
    const bare = toPlan(creation, folder, name, command);
    const environment = egress === undefined ? bare.environment : { ...toProxyEnvironment(), ...bare.environment };
    const plan = { ...bare, environment, socketFolder: folder.mount };
    const started = await startContainer(engine, plan, { watch: !proven.has(facts.id) });
    const channel = await awaitSupervisor(engine, socket, started, signal);
    proven.add(facts.id);
    const forget = () => folder.remove();
    const keeper = new ContainerKeeper({ engine, remover, container: started.id, forget });
    const { languages } = facts;
    const { deployment } = premises.state;
    const handle: DockerHandle = {
      ...{ deployment, container: started.id, folder: folder.name, image: facts.name, limits, languages },
      ...(egress !== undefined &&
        spec.network !== undefined &&
        spec.network !== "none" && { allow: spec.network.allow }),
    };
    const instance = new DockerInstance({
      ...{ engine, container: started.id, channel, limits, languages, handle },
      id: `docker_${folder.name}`,
      image: facts.name,
      kill: (why) => keeper.kill(why),
      ended: keeper.ended,
      ...(egress && { egress }),
    });
    await Promise.all([instance.ready(signal), folder.hideToken()]);
    return instance;
  } finally {
    await socket.close();
  }
}

async function createPlain(
  creation: Creation,
  folder: SessionFolder,
  name: string,
  signal: AbortSignal,
): Promise<SandboxInstance> {
  const { engine, remover, facts, limits } = creation;
  const plan = toPlan(creation, folder, name, [facts.programs.sh ?? "sh", "-c", IDLE_COMMAND]);
  const { id } = await startContainer(engine, plan, { watch: false });
  signal.throwIfAborted();
  const keeper = new ContainerKeeper({ engine, remover, container: id, forget: () => folder.remove() });
  return new PlainInstance({ engine, keeper, container: id, facts, limits, id: `docker_${folder.name}` });
}

function toPlan(creation: Creation, folder: SessionFolder, name: string, command: readonly string[]): ContainerPlan {
  const { facts, limits, spec, ociRuntime } = creation;
  const { node, bash } = facts.programs;
  return {
    ...{ name, imageId: facts.id, command, user: facts.user, limits },
    environment: {
      HOME: "/workspace",
      TMPDIR: "/tmp",
      LANG: "C.UTF-8",
      PYTHONDONTWRITEBYTECODE: "1",
      ...spec.environment,
      ...(node !== undefined && { TOOLYARD_NODE: node }),
      ...(bash !== undefined && { TOOLYARD_BASH: bash }),
    },
    labels: creation.labels(folder.name),
    ...(ociRuntime !== undefined && { ociRuntime }),
  };
}
