import { Action, type ActionInput } from "../actions/action.ts";
import type { ActionWatch } from "../actions/action-watch.ts";
import type { BatchDone, Operator } from "../actions/operator.ts";
import type { EncodedPicture } from "../screen/picture.ts";
import { ToolyardError } from "../../../core/errors.ts";

/** What a model's action comes to before it is done. */
export interface ForeignTurn {
  readonly actions: readonly Action[];
  /** The model's API wants to see the screen after it. */
  readonly screenshot: boolean;
  /** The model says that its task is over. */
  readonly ended?: "done" | "fail";
}

/** What a model's API or a harness speaks: its raw action in, what it wants back out. */
export interface ActionAdapter {
  /** @throws ToolyardError `invalid_input` for what is no action of this dialect. */
  toTurn(raw: unknown): ForeignTurn;
  /** The answer in the dialect's own words; `raw` is what {@link toTurn} took. */
  toAnswer(raw: unknown, turn: ForeignTurn, done: BatchDone): Readonly<Record<string, unknown>>;
}

/** What a raw action came to. */
export interface ForeignDone {
  /** For the model's API, as it is. */
  readonly answer: Readonly<Record<string, unknown>>;
  /** Why it failed, for the harness: not every API has a place for it. */
  readonly error: string | null;
  readonly ended: "done" | "fail" | null;
}

/** Does a model's raw action and answers in its dialect; a failure of the action's own is told there and beside it. */
export async function performForeign(
  adapter: ActionAdapter,
  raw: unknown,
  operator: Operator,
  signal: AbortSignal,
  watch?: ActionWatch,
): Promise<ForeignDone> {
  const turn = adapter.toTurn(raw);
  const done = await operator.batch(turn.actions, { screenshot: turn.screenshot, watch }, signal);
  const answer = adapter.toAnswer(raw, turn, done);
  return { answer, error: toFailure(done) ?? null, ended: turn.ended ?? null };
}

/** Checks what an adapter made of foreign params, whose bounds are the canonical action's. */
export function toAction(input: ActionInput | Readonly<Record<string, unknown>>): Action {
  const parsed = Action.safeParse(withoutUndefined(input));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ToolyardError("invalid_input", `${issue?.path.join(".") ?? "action"}: ${issue?.message ?? "is wrong"}`);
}

/** Foreign params often say `null` for what is left out. */
function withoutUndefined(input: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined && value !== null));
}

/** Why a turn failed, in the words of its first failure; `undefined` when it did not. */
export function toFailure({ items }: BatchDone): string | undefined {
  for (const item of items) if (!item.ok) return item.message;
  return undefined;
}

/** The last picture that a turn brought. */
export function toPicture({ picture, items }: BatchDone): EncodedPicture | undefined {
  if (picture !== undefined) return picture;
  for (const item of items.toReversed()) if (item.ok && item.done.picture !== undefined) return item.done.picture;
  return undefined;
}

/** Reads raw params by a schema of the dialect's. */
export function parseForeign<T>(
  schema: {
    safeParse(
      raw: unknown,
    ):
      | { success: true; data: T }
      | { success: false; error: { issues: readonly { path: PropertyKey[]; message: string }[] } };
  },
  raw: unknown,
  dialect: string,
): T {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue?.path.map(String).join(".") ?? "";
  throw new ToolyardError(
    "invalid_input",
    `it is no action of ${dialect}: ${path === "" ? "" : `${path}: `}${issue?.message ?? ""}`,
  );
}

export function toDataUrl({ format, bytes }: EncodedPicture): string {
  return `data:image/${format};base64,${bytes.toString("base64")}`;
}
