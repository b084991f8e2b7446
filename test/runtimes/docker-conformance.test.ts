import { afterAll } from "vitest";
import { describeDocker, missingEngine, openDeployment } from "../kit/docker-engine.ts";
import { describeCommands, describeProcesses } from "../kit/runtime-conformance-commands.ts";
import { describeFiles } from "../kit/runtime-conformance-files.ts";
import { describePorts } from "../kit/runtime-conformance-ports.ts";
import { describePause, describeState } from "../kit/runtime-conformance-state.ts";
import { describeRuntime } from "../kit/runtime-conformance.ts";
import { PROGRAMS } from "../kit/runtime-programs.ts";

if (missingEngine !== null) {
  describeDocker("docker conforms", () => {});
} else {
  const deployment = await openDeployment();
  const create = () => deployment.runtime();
  describeRuntime("docker", { create, programs: PROGRAMS });
  for (const suite of [
    describeCommands,
    describeProcesses,
    describeFiles,
    describePorts,
    describeState,
    describePause,
  ]) {
    suite("docker", create);
  }
  afterAll(() => deployment[Symbol.asyncDispose]());
}
