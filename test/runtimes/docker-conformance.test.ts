import { afterAll } from "vitest";
import { describeDocker, missingEngine, openDeployment } from "../kit/docker-engine.ts";
import { describeRuntime } from "../kit/runtime-conformance.ts";
import { PROGRAMS } from "../kit/runtime-programs.ts";

if (missingEngine !== null) {
  describeDocker("docker conforms", () => {});
} else {
  const deployment = await openDeployment();
  describeRuntime("docker", { create: () => deployment.runtime(), programs: PROGRAMS });
  afterAll(() => deployment[Symbol.asyncDispose]());
}
