import { afterAll } from "vitest";
import { describeDocker, missingEngine, openDeployment } from "../kit/docker-engine.ts";
import { attackFiles } from "./file-attacks.ts";
import { attackResources, attackResults } from "./sandbox-attacks.ts";

if (missingEngine !== null) {
  describeDocker("a docker box under attack", () => {});
} else {
  const deployment = await openDeployment();
  const make = () => deployment.runtime();
  describeDocker("a docker box under attack", () => attackResources(make));
  describeDocker("what hostile code in a docker box says", () => attackResults(make));
  describeDocker("the files of a docker box under attack", () => attackFiles(make));
  afterAll(() => deployment[Symbol.asyncDispose]());
}
