import type Docker from "dockerode";
import { onTestFinished } from "vitest";
import { LABELS, ofDeployment } from "../../src/runtimes/docker/labels.ts";
import { openStateFolder } from "../../src/runtimes/docker/state-folder.ts";
import { docker } from "./docker-engine.ts";

/** One deployment's containers, as the engine itself tells of them. */
export interface Containers {
  /** Ids of those that are there, running or not. */
  list(): Promise<string[]>;
  /** The container of a session. */
  of(sessionId: string): Promise<Docker.Container>;
}

/** Looks at the containers of the deployment that works in a state folder; what a test leaves of them is removed at its end. */
export function containersOf(stateFolder: string): Containers {
  const { deployment } = openStateFolder(stateFolder);
  const found = () => docker.listContainers({ all: true, filters: ofDeployment(deployment) });
  onTestFinished(async () => {
    for (const { Id: id } of await found())
      await docker
        .getContainer(id)
        .remove({ force: true, v: true })
        .catch(() => undefined);
  });
  return {
    list: async () => (await found()).map(({ Id: id }) => id),
    async of(sessionId) {
      const container = (await found()).find(({ Labels: labels }) => labels[LABELS.session] === sessionId);
      if (container === undefined) throw new Error(`there is no container of ${sessionId}`);
      return docker.getContainer(container.Id);
    },
  };
}
