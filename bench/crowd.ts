import { Agent, request } from "node:http";

/** Connections that are opened at once; more would overrun the server's accept queue and wait for a second SYN. */
const WAVE = 128;

/** An answer's status, and when it was there. */
export interface CrowdAnswer {
  readonly status: number;
  readonly at: number;
}

/** Sends every body on a connection of its own without waiting for answers; resolves once all are sent, with the answers to come. */
export async function sendCrowd(url: string, bodies: readonly string[]): Promise<readonly Promise<CrowdAnswer>[]> {
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  const answers: Promise<CrowdAnswer>[] = [];
  for (let start = 0; start < bodies.length; start += WAVE) {
    const sent = bodies.slice(start, start + WAVE).map((body) => sendOne(agent, url, body));
    answers.push(...sent.map(({ answer }) => answer));
    // Waves on purpose; see above.
    // oxlint-disable-next-line no-await-in-loop
    await Promise.all(sent.map(({ flushed }) => flushed));
  }
  return answers;
}

function sendOne(agent: Agent, url: string, body: string) {
  const flushed = Promise.withResolvers<void>();
  const answer = new Promise<CrowdAnswer>((resolve) => {
    const sending = request(url, {
      method: "POST",
      agent,
      headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
    });
    sending.on("response", (response) => {
      response.resume();
      response.on("close", () =>
        resolve({ status: response.complete ? (response.statusCode ?? 0) : 0, at: performance.now() }),
      );
    });
    sending.on("finish", flushed.resolve);
    // An answer that never comes is one with status 0.
    sending.on("error", () => {
      flushed.resolve();
      resolve({ status: 0, at: performance.now() });
    });
    sending.end(body);
  });
  return { flushed: flushed.promise, answer };
}
