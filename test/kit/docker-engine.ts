import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Docker from "dockerode";
import { describe, it } from "vitest";
import { findEngine } from "../../src/runtimes/docker/engine-address.ts";
import { LABELS, ofDeployment } from "../../src/runtimes/docker/labels.ts";
import { DockerRuntime, type DockerRuntimeOptions } from "../../src/runtimes/docker/runtime.ts";
import { openStateFolder } from "../../src/runtimes/docker/state-folder.ts";

const never = new AbortController().signal;
const address = findEngine(undefined);
const probe = new DockerRuntime();
let status = await probe.check(never);
// A busy machine's engine may take longer than a look waits, and what is skipped shows nothing.
for (let again = 0; again < 5 && status.reason?.includes("does not answer") === true; again += 1) {
  // One look after another is the point.
  // oxlint-disable-next-line no-await-in-loop
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  // oxlint-disable-next-line no-await-in-loop
  status = await probe.check(never);
}
await probe.close();

/** Why tests that need an engine and the default image cannot run here; `null` when they can. */
export const missingEngine = status.available ? null : `${status.reason}; remedy: ${status.remedy}`;
/** The engine's socket. */
export const engineSocket = "socketPath" in address ? address.socketPath : "";
/** The engine itself, past the runtime. */
export const docker = new Docker({ socketPath: engineSocket });

/** A `describe` that is skipped, with a line that says why, where no engine answers. */
export function describeDocker(name: string, tests: () => void): void {
  if (missingEngine === null) describe(name, tests);
  else
    describe(name, () => {
      it.skip(`is not tested here: ${missingEngine}`, () => {});
    });
}

/** A deployment of its own, all of whose containers go with it. */
export interface TestDeployment extends AsyncDisposable {
  readonly stateFolder: string;
  readonly id: string;
  /** A runtime as one more server of the deployment would have it. */
  runtime(options?: DockerRuntimeOptions): DockerRuntime;
  /** Its containers, as the engine knows them. */
  containers(): Promise<Docker.ContainerInfo[]>;
}

/** Makes a deployment. */
export async function openDeployment(): Promise<TestDeployment> {
  const stateFolder = await mkdtemp(join(tmpdir(), "ty-"));
  const { deployment: id } = openStateFolder(stateFolder);
  const runtimes: DockerRuntime[] = [];
  const containers = () => docker.listContainers({ all: true, filters: ofDeployment(id) });
  return {
    stateFolder,
    id,
    runtime(options = {}) {
      const runtime = new DockerRuntime({ stateFolder, ...options });
      runtimes.push(runtime);
      return runtime;
    },
    containers,
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(runtimes.map((runtime) => runtime.close()));
      const left = await containers();
      await Promise.allSettled(left.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
      await rm(stateFolder, { recursive: true, force: true });
    },
  };
}

/** The container of a session's folder. */
export const folderOf = (labels: Readonly<Record<string, string>>): string => labels[LABELS.folder] ?? "";
