import { Agent, request } from "node:http";

export interface Load {
  readonly url: string;
  readonly body: (index: number) => string;
  readonly requests: number;
  readonly concurrency: number;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failures: number;
}

/** Sends requests over keep-alive connections, `concurrency` at a time. */
export async function runLoad({ url, body, requests, concurrency }: Load): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const latencies: number[] = [];
  let next = 0;
  let failures = 0;
  const work = async () => {
    while (next < requests) {
      const payload = body(next);
      next += 1;
      const startedAt = performance.now();
      const status = await post(agent, url, payload);
      latencies.push(performance.now() - startedAt);
      if (status !== 200) failures += 1;
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: concurrency }, work));
  const seconds = (performance.now() - startedAt) / 1000;
  agent.destroy();
  return {
    requestsPerSecond: requests / seconds,
    p50Ms: percentile(latencies, 50),
    p99Ms: percentile(latencies, 99),
    failures,
  };
}

/** Posts a body and reads its answer to the end; resolves with the status. */
export function post(agent: Agent, url: string, payload: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sending = request(
      url,
      {
        method: "POST",
        agent,
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(payload) },
      },
      (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode ?? 0));
      },
    );
    sending.on("error", reject);
    sending.end(payload);
  });
}

/** The value below which `percent` of the values lie (nearest rank). */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 50);
