import type { Host } from "./creation.ts";
import { DEADLINES_MS } from "./engine-client.ts";
import { LABELS, ofDeployment } from "./labels.ts";
import { SessionFolder } from "./session-folder.ts";

/**
 * Removes the containers and folders of this deployment that no living server owns; those of another deployment are not even
 * listed. Two servers that reap at once share the work: a folder can be claimed once.
 *
 * @returns how many containers are gone. @throws EngineFailure
 */
export async function reap(host: Host): Promise<number> {
  const { engine, premises } = host;
  const { state, presence } = premises;
  // Before the containers: a folder that is made later belongs to somebody who lives.
  const folders = await SessionFolder.list(state.path);
  const call = { what: "listing the deployment's containers", deadlineMs: DEADLINES_MS.look };
  const containers = await engine.call(call, (docker, abortSignal) =>
    docker.listContainers({ all: true, filters: ofDeployment(state.deployment), abortSignal }),
  );
  const gone = await Promise.all(containers.map(({ Id: id, Labels: labels }) => reapContainer(host, id, labels)));
  const kept = new Set(containers.map(({ Labels: labels }) => labels[LABELS.folder]));
  await Promise.all(folders.filter((name) => !kept.has(name)).map(async (name) => (await claim(host, name))?.remove()));
  await presence.sweep();
  return gone.filter(Boolean).length;
}

async function reapContainer(host: Host, id: string, labels: Readonly<Record<string, string>>): Promise<boolean> {
  const { remover, premises } = host;
  const { state, presence } = premises;
  const name = labels[LABELS.folder] ?? "";
  const folder = await claim(host, name);
  if (folder !== null) return remover.remove(id, () => folder.remove());
  // Somebody's who lives, or one without a folder, whose label alone says whose it is.
  if (await SessionFolder.isOwned(state.path, name, presence)) return false;
  if (await presence.isAlive(labels[LABELS.instance] ?? "")) return false;
  return remover.remove(id);
}

const claim = ({ premises: { state, presence } }: Host, name: string): Promise<SessionFolder | null> =>
  SessionFolder.claim(state.path, name, presence);
