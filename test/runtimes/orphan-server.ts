// A stand-in for a server that is killed while user code holds its engine: prints the engines' pids, then waits for its end.
import { QuickJsRuntime } from "../../src/runtimes/quickjs/runtime.ts";
import { listChildren } from "../kit/child-processes.ts";

const signal = new AbortController().signal;
const runtime = new QuickJsRuntime({ spares: 1 });
const kernel = await (await runtime.create({}, signal)).openKernel("javascript", signal);
await runtime.warmup(signal);
const code =
  "console.log('held'); await tools.call('held', {}).catch(() => {}); Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)";
await kernel.run(
  { code, deadlineMs: 600_000 },
  {
    signal,
    onCall: async () => {
      // By the next turn the engine has its answer and never reads again.
      setTimeout(() => console.log(listChildren().join(" ")), 200);
      throw new Error("go on");
    },
  },
);
