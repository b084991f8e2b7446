import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type ActionName,
  type ActionsOf,
  Backend,
  type HttpServiceClient,
  type Input,
  type Job,
  type Sandbox,
  tool,
  type ToolContext,
  type ToolResult,
} from "../../src/index.ts";

const Point = z.strictObject({
  x: z.int(),
  y: z.int(),
  button: z.enum(["left", "right"]).default("left"),
  // A schema whose output is not its input: the caller sends text, the tool gets a number.
  delay: z.string().transform(Number).optional(),
});
const Look = z.strictObject({ scale: z.number().default(1) });

/** A backend of a user's own. */
class Pad extends Backend<{ taps: number }> {
  readonly resource = "pad";

  override async initialize() {
    return { taps: 0 };
  }

  @tool({ description: "Tap.", params: Point })
  async tap({ delay }: Input<typeof Point>, { session }: ToolContext<{ taps: number }>) {
    expectTypeOf(delay).toEqualTypeOf<number | undefined>();
    return { taps: session.data.taps, where: "screen" as const };
  }

  @tool({ description: "Look.", params: Look })
  look({ scale }: Input<typeof Look>) {
    return { scale };
  }

  @tool({ description: "Wipe." })
  wipeAll() {
    return true;
  }
}

declare module "../../src/index.ts" {
  interface ActionMap extends ActionsOf<Pad, "pad"> {}
}

declare const sandbox: Sandbox;
declare const client: HttpServiceClient;

test("a user's backend adds its actions by declaration merging", () => {
  expectTypeOf<"pad:tap" | "pad:look" | "pad:wipe_all" | "code:run">().toExtend<ActionName>();
});

test("the result follows from the action", () => {
  expectTypeOf(sandbox.execute("pad:tap", { x: 1, y: 2 })).resolves.toEqualTypeOf<{ taps: number; where: "screen" }>();
  expectTypeOf(client.execute("pad:look")).resolves.toEqualTypeOf<{ scale: number }>();
  expectTypeOf(sandbox.execute("pad:wipe_all")).resolves.toEqualTypeOf<boolean>();
});

test("defaults are optional, and so are params of which all are", () => {
  void sandbox.execute("pad:tap", { x: 1, y: 2, button: "right" }, { timeoutMs: 1_000 });
  void sandbox.execute("pad:look");
  void sandbox.execute("pad:look", {}, { timeoutMs: 1_000 });
  void sandbox.execute("pad:wipe_all");
  // @ts-expect-error x and y have no default
  void sandbox.execute("pad:tap");
  // @ts-expect-error y has no default
  void sandbox.execute("pad:tap", { x: 1 });
});

test("the caller sends what the schema takes in, not what the tool gets", () => {
  void sandbox.execute("pad:tap", { x: 1, y: 2, delay: "5" });
  // @ts-expect-error the tool gets a number, the caller sends text
  void sandbox.execute("pad:tap", { x: 1, y: 2, delay: 5 });
});

test("a wrong action, field, type or enum value does not compile", () => {
  // @ts-expect-error no such action
  void sandbox.execute("pad:tab", { x: 1, y: 2 });
  // @ts-expect-error no such field
  void sandbox.execute("pad:tap", { x: 1, y: 2, z: 3 });
  // @ts-expect-error a number is needed
  void sandbox.execute("pad:tap", { x: "1", y: 2 });
  // @ts-expect-error no such button
  void sandbox.execute("pad:tap", { x: 1, y: 2, button: "top" });
  // @ts-expect-error it takes no params
  void sandbox.execute("pad:wipe_all", { x: 1 });
  // @ts-expect-error no such option
  void sandbox.execute("pad:look", {}, { timeout: 1 });
});

test("call takes any action and answers a value that must be looked at", () => {
  expectTypeOf(sandbox.call("anything:at_all", { x: 1 })).resolves.toEqualTypeOf<ToolResult>();
  const read = (result: ToolResult) => {
    // @ts-expect-error a failure has no data
    void result.data;
    return result.ok ? result.data : result.error.suggestion;
  };
  expectTypeOf(read).returns.toEqualTypeOf<unknown>();
});

test("a job's result follows from the action", async () => {
  const job = await sandbox.job("pad:tap", { x: 1, y: 2 });
  expectTypeOf(job.result()).resolves.toEqualTypeOf<{ taps: number; where: "screen" }>();
  expectTypeOf(client.job("pad:look")).resolves.toEqualTypeOf<Job<{ scale: number }>>();
  // @ts-expect-error a tool that is not there
  void sandbox.job("pad:tab", { x: 1, y: 2 });
  // @ts-expect-error params that are not given
  void client.job("pad:tap");
});

test("a stream's result follows from the action, and its events from their type", async () => {
  for await (const event of sandbox.stream("pad:tap", { x: 1, y: 2 })) {
    switch (event.type) {
      case "output":
        expectTypeOf(event.data).toEqualTypeOf<{ readonly stream: "stdout" | "stderr"; readonly text: string }>();
        break;
      case "result":
        if (event.result.ok) expectTypeOf(event.result.data).toEqualTypeOf<{ taps: number; where: "screen" }>();
        break;
      default:
        // @ts-expect-error only the last event has a result
        void event.result;
    }
  }
  // @ts-expect-error no such action
  void sandbox.stream("pad:tab", { x: 1, y: 2 });
  // @ts-expect-error x and y have no default
  void client.stream("pad:tap");
});

test("followed events are those of the types asked for, and gaps", async () => {
  for await (const event of client.events({ types: ["call.failed", "session.ended"] })) {
    expectTypeOf(event.type).toEqualTypeOf<"call.failed" | "session.ended" | "gap">();
    if (event.type === "call.failed") expectTypeOf(event.data.error).toEqualTypeOf<string>();
    // @ts-expect-error a gap has no session
    void event.session_id;
  }
  for await (const event of sandbox.events()) {
    if (event.type === "call.started") expectTypeOf(event.data.action).toEqualTypeOf<string>();
  }
  // @ts-expect-error no such type
  void sandbox.events({ types: ["call.begun"] });
});
