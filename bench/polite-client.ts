// A polite worker in a process of its own, so that its latencies hold nothing of another client's work: ten calls at a time.
import { Agent } from "node:http";
import { post } from "./load.ts";

export interface PoliteOrder {
  readonly url: string;
  readonly body: string;
  readonly calls: number;
  readonly rounds: number;
}

/** Latencies in milliseconds. */
async function bePolite({ url, body, calls, rounds }: PoliteOrder): Promise<number[]> {
  const latencies: number[] = [];
  const one = async () => {
    const startedAt = performance.now();
    if ((await post(agent, url, body)) !== 200) throw new Error("a call failed");
    latencies.push(performance.now() - startedAt);
  };
  for (let round = 0; round < rounds; round += 1) {
    // Rounds follow each other on purpose.
    // oxlint-disable-next-line no-await-in-loop
    await Promise.all(Array.from({ length: calls }, one));
  }
  return latencies;
}

const agent = new Agent({ keepAlive: true });
process.on("message", (order: PoliteOrder) => void bePolite(order).then((latencies) => process.send?.(latencies)));
process.on("disconnect", () => process.exit(0));
