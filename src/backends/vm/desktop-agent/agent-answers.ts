import { z } from "zod";

// What the agent may answer. It lives among the sandbox's programs: nothing that it says is believed beyond these shapes and sizes.
const Pixels = z.int().min(-1_000_000).max(1_000_000);
const Side = z.int().min(0).max(1_000_000);
const Text = (characters: number) => z.string().max(characters);

/** A rectangle in pixels of the screen. */
const Box = z.tuple([Pixels, Pixels, Side, Side]);
export type Box = z.infer<typeof Box>;

const Window = z.object({
  id: z.int().min(0).max(0xff_ff_ff_ff),
  title: Text(500),
  class: z.array(Text(200)).max(2),
  pid: z.int().min(0).nullable(),
  box: z.object({ x: Pixels, y: Pixels, width: Side, height: Side }),
  active: z.boolean(),
  states: z.array(Text(40)).max(10),
});
/** A window as the window manager has it, its frame included, in pixels of the screen. */
export type AgentWindow = z.infer<typeof Window>;

const Node = z.object({
  ref: z.string().regex(/^e\d{1,9}$/),
  role: Text(100),
  name: Text(1_000),
  description: Text(1_000),
  text: Text(10_000).nullable(),
  value: z.number().nullable(),
  states: z.array(Text(40)).max(64),
  box: Box.nullable(),
  actions: z.array(Text(100)).max(20),
  parent: z.int().min(0).nullable(),
  depth: z.int().min(0).max(200),
});
/** An element of a program, in pixels of the screen; `parent` is the place of another one in the same list, before its own. */
export type AgentNode = z.infer<typeof Node>;

const Nodes = z
  .object({
    nodes: z.array(Node).max(10_000),
    truncated: Text(40).nullable(),
    unresponsive: z.int().min(0),
  })
  .refine(({ nodes }) => nodes.every(({ parent }, index) => parent === null || parent < index), {
    error: "a parent comes after its child",
  });
export type AgentNodes = z.infer<typeof Nodes>;

const Done = z.object({ done: z.literal(true) });

/** Every request that the agent takes: the lane that does it, one request after another, and what it may answer. */
export const AGENT_OPS = {
  list_windows: { lane: "display", answer: z.object({ windows: z.array(Window).max(500) }) },
  active_window: { lane: "display", answer: z.object({ window: Window.nullable() }) },
  window_info: { lane: "display", answer: Window },
  activate_window: { lane: "display", answer: Window },
  minimize_window: { lane: "display", answer: Window },
  maximize_window: { lane: "display", answer: Window },
  place_window: { lane: "display", answer: Window },
  close_window: { lane: "display", answer: z.object({ closed: z.boolean() }) },
  pointer: { lane: "display", answer: z.object({ x: z.int().min(0).max(65_535), y: z.int().min(0).max(65_535) }) },
  clipboard_get: {
    lane: "display",
    answer: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("none") }),
      z.object({ kind: z.literal("text"), text: Text(8 << 20) }),
      z.object({ kind: z.literal("png"), png: z.base64().max(12 << 20) }),
    ]),
  },
  clipboard_set: { lane: "display", answer: z.object({ set: z.literal(true) }) },
  clipboard_served: { lane: "display", answer: z.object({ served: z.boolean() }) },
  tree: { lane: "elements", answer: Nodes },
  find: { lane: "elements", answer: Nodes },
  locate: { lane: "elements", answer: z.object({ box: Box }) },
  focus: { lane: "elements", answer: Done },
  invoke: { lane: "elements", answer: Done.extend({ name: Text(200) }) },
  set_value: { lane: "elements", answer: z.object({ done: z.boolean(), editable: z.boolean().optional() }) },
  terminal_text: {
    lane: "elements",
    answer: z.object({ text: Text(200_000).nullable(), app: Text(1_000).nullable() }),
  },
  resolve_open: {
    lane: "elements",
    answer: z.object({ command: z.array(Text(5_000)).min(1).max(50), app: Text(300) }),
  },
  python: {
    lane: "code",
    answer: z.object({
      exit_code: z.int().min(-64).max(255),
      ended_by: z.enum(["timeout", "cancelled"]).nullable(),
      stdout: Text(1 << 20),
      stderr: Text(1 << 20),
      truncated: z.boolean(),
    }),
  },
} as const satisfies Record<string, { readonly lane: string; readonly answer: z.ZodType }>;

export type AgentOp = keyof typeof AGENT_OPS;
export type AgentAnswer<O extends AgentOp> = z.output<(typeof AGENT_OPS)[O]["answer"]>;

const Failure = z.object({
  kind: z.enum(["invalid", "stale", "unavailable", "failed", "timeout"]),
  message: Text(400),
});
export type AgentFailure = z.infer<typeof Failure>;

/** One line of the agent's. */
export const AgentMessage = z.union([
  z.strictObject({ ready: z.literal(true) }),
  z.strictObject({ id: z.int().min(1), result: z.unknown() }),
  z.strictObject({ id: z.int().min(1), error: Failure }),
]);
export type AgentMessage = z.infer<typeof AgentMessage>;
