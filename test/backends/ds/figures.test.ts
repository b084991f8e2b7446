import { describe, expect, it, onTestFinished } from "vitest";
import CodeBackend from "../../../src/backends/code/backend.ts";
import DsBackend from "../../../src/backends/ds/backend.ts";
import { createRuntimeSelector } from "../../../src/runtimes/selector.ts";
import { docker, missingEngine, openDeployment } from "../../kit/docker-engine.ts";
import { testServer } from "../../kit/test-server.ts";
import { caller } from "../../kit/tool-caller.ts";
import { makeSeeds, SALES } from "./seed-folder.ts";

const IMAGE = "toolyard/code:latest";

async function findReason(): Promise<string | null> {
  if (missingEngine !== null) return missingEngine;
  return docker
    .getImage(IMAGE)
    .inspect()
    .then(
      () => null,
      () => `the image ${IMAGE} is not built (toolyard images build code)`,
    );
}
const reason = await findReason();
if (reason !== null) console.log(`figures of matplotlib are not tested here: ${reason}`);

describe.skipIf(reason !== null)("in an image with pandas and matplotlib", () => {
  it("python reads the data with what is there without an import, and its figures come back as images", async () => {
    const deployment = await openDeployment();
    const selector = createRuntimeSelector({
      order: ["docker"],
      runtimes: [deployment.runtime({ images: ["toolyard/*"] })],
    });
    const backends = [
      new DsBackend({ config: { folders: [makeSeeds({ "sales.csv": SALES })] } }),
      new CodeBackend({ config: {}, runtimes: selector }),
    ];
    const server = await testServer({ backends });
    onTestFinished(async () => {
      await server[Symbol.asyncDispose]();
      await selector.close();
      await deployment[Symbol.asyncDispose]();
    });
    const session = { worker_id: "w1", resource_type: "code", session_config: { runtime: "docker", image: IMAGE } };
    expect((await server.post("/api/v1/session/create", session)).status).toBe(200);
    // As code for the known tool is written: nothing imported, nothing shown.
    const code =
      'df = load_csv("sales.csv")\nplt.plot(df["month"], df["sales"])\nplt.title("Sales")\nmean = np.mean(df["sales"])\nprint(df.shape)';
    const answer = await caller(server)("ds_run_python", { code, return_vars: ["df", "mean"], timeout_ms: 60_000 });
    expect(answer).toMatchObject({ error: null, stdout: "(4, 3)\n", variables: { mean: "143.875" } });
    expect(answer["variables"].df).toMatch(/^shape=\(4, 3\)\n/);
    expect(answer["images"]).toMatchObject([{ type: "image/png", description: "Figure 1" }]);
    expect(Buffer.from(answer["images"][0].base64, "base64").subarray(1, 4).toString()).toBe("PNG");
  }, 180_000);
});
