import { afterAll, describe, it } from "vitest";
import { LocalRuntime } from "../../src/runtimes/local/runtime.ts";
import { describeDocker, missingEngine, openDeployment } from "../kit/docker-engine.ts";
import { describeEgress } from "../kit/runtime-conformance-egress.ts";

const status = await new LocalRuntime().check(new AbortController().signal);
if (status.languages.python?.available === true) {
  describeEgress("local", (egress) => new LocalRuntime({ egress }));
} else {
  describe("local", () => it.skip(`is not tested here: ${status.reason}; remedy: ${status.remedy}`, () => {}));
}

if (missingEngine !== null) {
  describeDocker("docker lets out what its policy lists", () => {});
} else {
  const deployment = await openDeployment();
  describeEgress("docker", (egress) => deployment.runtime({ egress }));
  afterAll(() => deployment[Symbol.asyncDispose]());
}
