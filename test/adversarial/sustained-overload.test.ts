import { Agent, request } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { ManualClock, settle } from "../kit/manual-clock.ts";
import { ScriptedBackend } from "../kit/scripted-backend.ts";
import { testServer } from "../kit/test-server.ts";

const RUNNING = 10;
const QUEUED = 40;
const ROUNDS = 40;
/** Ten times what a round serves. */
const OFFERED = RUNNING * 10;

interface Sent {
  readonly n: number;
  readonly status: number;
  readonly retryAfter: number;
  readonly body: { readonly data?: { readonly n: number } | null; readonly meta?: { readonly error?: string } };
}

it("E08: ten times what it can do, for long: nothing is lost, nothing grows, and as much is served as ever", async () => {
  const waiting: (() => void)[] = [];
  let over = false;
  const ran: number[] = [];
  const backend = new ScriptedBackend({
    script: async ({ n }) => {
      if (!over) await new Promise<void>((resolve) => waiting.push(resolve));
      ran.push(Number(n));
      return { n };
    },
  });
  const clock = new ManualClock();
  const limits = { maxConcurrentCalls: RUNNING, maxQueuedCalls: QUEUED, callTimeoutMs: 3_600_000 };
  await using server = await testServer({ backends: [backend], limits, clock });
  const letAllEnd = () => {
    over = true;
    for (const finish of waiting.splice(0)) finish();
  };
  // Also for a server that stops because of a failed expectation.
  using _ = { [Symbol.dispose]: letAllEnd };
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const { admission, executor, params } = server.engine;

  let numbers = 0;
  const served: Sent[] = [];
  const refused: Sent[] = [];
  const send = (): void => {
    const n = (numbers += 1);
    const body = JSON.stringify({ worker_id: `w${n % 25}`, action: "probe:probe", params: { n } });
    void post(agent, `${server.url}/execute`, body).then(({ status, retryAfter, text }) => {
      (status === 200 ? served : refused).push({ n, status, retryAfter, body: JSON.parse(text) });
    });
  };
  const until = async (enough: () => boolean) => {
    while (!enough()) await settle();
  };

  const round = async (paceMs: number): Promise<number> => {
    const before = { served: served.length, refused: refused.length };
    for (let index = 0; index < OFFERED; index += 1) send();
    // What has no place is refused at once, while nothing ends.
    const places = RUNNING + QUEUED - admission.report().running - admission.report().queued;
    await until(() => refused.length - before.refused === OFFERED - places);
    await until(() => admission.report().running === RUNNING && admission.report().queued === QUEUED);
    expect([executor.activeCount, params.held, admission.workerCount <= 25]).toEqual([RUNNING + QUEUED, 0, true]);
    await until(() => waiting.length === RUNNING);
    clock.skip(paceMs);
    for (const finish of waiting.splice(0)) finish();
    await until(() => served.length - before.served >= RUNNING);
    return served.length - before.served;
  };

  const goodput: number[] = [];
  for (let index = 0; index < ROUNDS; index += 1) goodput.push(await round(500));
  // Places that come free are taken at once by who waits: a full queue costs no turn of the tools.
  expect(goodput).toEqual(Array.from({ length: ROUNDS }, () => RUNNING));
  // 20 a second were measured, so that 40 that wait take 2 s.
  expect(new Set(refused.slice(-50).map(({ retryAfter }) => retryAfter))).toEqual(new Set([2]));
  for (let index = 0; index < 20; index += 1) await round(2_000);
  // 5 a second now, which make 8 s; the measure weighs the newest completions most.
  for (const { retryAfter } of refused.slice(-50)) expect([7, 8, 9]).toContain(retryAfter);

  letAllEnd();
  await until(() => served.length + refused.length === numbers);
  expect(refused.every(({ status, body }) => status === 429 && body.meta?.error === "overloaded")).toBe(true);
  expect(served.map(({ body }) => body.data?.n)).toEqual(served.map(({ n }) => n));
  expect(ran.toSorted((a, b) => a - b)).toEqual(served.map(({ n }) => n).toSorted((a, b) => a - b));
  expect(new Set(ran).size).toBe(ran.length);
  expect([admission.workerCount, executor.activeCount]).toEqual([0, 0]);
});

function post(agent: Agent, url: string, body: string) {
  return new Promise<{ status: number; retryAfter: number; text: string }>((resolve) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sending = request(url, { method: "POST", agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, retryAfter: Number(response.headers["retry-after"] ?? 0), text }),
      );
    });
    // A call that is lost is one with status 0.
    sending.on("error", () => resolve({ status: 0, retryAfter: 0, text: "{}" }));
    sending.end(body);
  });
}
