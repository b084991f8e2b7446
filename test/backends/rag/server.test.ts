import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startCli } from "../../cli/cli-process.ts";

it("keeps its documents through kill -9 of a real server, in whose thread it runs (F01)", async () => {
  const folder = await mkdtemp(join(tmpdir(), "toolyard-rag-server-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const config = join(folder, "config.json");
  await writeFile(config, JSON.stringify({ resources: { rag: { backend: "rag" } } }));
  const start = async () => {
    const server = startCli(["serve", "--config", config, "--port", "0", "--data", join(folder, "data")]);
    const [, url = ""] = await server.line(/listens on (http:\/\/[^ ]+)/);
    const call = async (action: string, params: object) => {
      const body = JSON.stringify({ worker_id: "w1", action, params });
      const answer: unknown = await (await fetch(`${url}/execute`, { method: "POST", body })).json();
      return answer;
    };
    const kill = async () => {
      server.child.kill("SIGKILL");
      await server.ended;
    };
    return { call, kill };
  };
  const first = await start();
  const documents = Array.from({ length: 50 }, (_, index) => ({ id: `d${index}`, text: `copper number${index}` }));
  expect(await first.call("rag:index", { documents })).toMatchObject({ data: { added: 50, generation: 1 } });
  await first.kill();
  const second = await start();
  expect(await second.call("rag:search", { query: "number7" })).toMatchObject({
    data: { results: [{ document_id: "d7" }] },
  });
  expect(await second.call("rag:index", { documents })).toMatchObject({ data: { unchanged: 50 } });
  await second.kill();
});
