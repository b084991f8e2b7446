import { expect, it, onTestFinished } from "vitest";
import { ChatModelConfig } from "../../src/core/chat-model.ts";
import { createChatModel } from "../../src/llm/openai-chat.ts";
import { openDouble } from "../backends/web/web-doubles.ts";

const completion = (content: unknown) => ({
  id: "c1",
  object: "chat.completion",
  model: "m-1",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});

const question = { system: "s", user: "u", signal: new AbortController().signal };
const open = (url: string, more: object = {}) =>
  createChatModel(ChatModelConfig.parse({ url: `${url}/v1`, model: "m", retries: 0, ...more }));

it("asks a double of an OpenAI-compatible endpoint by the config alone, whatever the environment holds", async () => {
  const names = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"];
  for (const name of names) process.env[name] = "leaked";
  onTestFinished(() => names.forEach((name) => delete process.env[name]));
  const double = await openDouble(() => completion("hello"));
  const answer = await open(double.url, { api_key: "mine", max_tokens: 7, temperature: 0.5 }).ask(question);
  expect(answer).toEqual({ text: "hello", model: "m-1", usage: { prompt_tokens: 3, completion_tokens: 2 } });
  expect(double.requests).toHaveLength(1);
  expect(double.requests[0]).toMatchObject({
    method: "POST",
    path: "/v1/chat/completions",
    headers: { authorization: "Bearer mine" },
    body: {
      model: "m",
      max_tokens: 7,
      temperature: 0.5,
      messages: [
        { role: "system", content: "s" },
        { role: "user", content: "u" },
      ],
    },
  });
  expect(JSON.stringify(double.requests)).not.toContain("leaked");
});

it("tries again as often as the config says, and no request that was wrong", async () => {
  const statuses = [500, 200];
  const double = await openDouble((_request, response) => {
    const status = statuses.shift() ?? 400;
    response.writeHead(status, { "content-type": "application/json", "retry-after-ms": "1" });
    response.end(JSON.stringify(status === 200 ? completion("late") : { error: { message: "no" } }));
  });
  const model = open(double.url, { retries: 3 });
  expect((await model.ask(question)).text).toBe("late");
  await expect(model.ask(question)).rejects.toMatchObject({
    error: "upstream_failed",
    retryable: false,
    details: { status: 400 },
  });
  expect(double.requests).toHaveLength(3);
});

it.each([
  ["nothing", {}],
  ["no choices", { choices: [] }],
  ["no text", completion(null)],
])("says that an answer with %s is none", async (_name, answer) => {
  const double = await openDouble(() => answer);
  await expect(open(double.url).ask(question)).rejects.toMatchObject({ error: "upstream_unreadable" });
});

it("says that nobody answers, and ends with its signal's own reason", async () => {
  await expect(open("http://127.0.0.1:1").ask(question)).rejects.toMatchObject({
    error: "upstream_failed",
    retryable: true,
  });
  const double = await openDouble(() => undefined);
  const caller = new AbortController();
  const asked = open(double.url).ask({ ...question, signal: caller.signal });
  await expect.poll(() => double.requests.length).toBe(1);
  const reason = new Error("enough");
  caller.abort(reason);
  await expect(asked).rejects.toBe(reason);
  await expect.poll(() => double.brokenOff()).toBe(1);
});

it("shows pictures beside the words", async () => {
  const double = await openDouble(() => completion("a cat"));
  const images = [{ mediaType: "image/png", base64: "AAAA" }];
  await open(double.url).ask({ ...question, images });
  expect(double.requests[0]?.body.messages[1]).toEqual({
    role: "user",
    content: [
      { type: "text", text: "u" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    ],
  });
});
