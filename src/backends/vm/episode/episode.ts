import type { Clock } from "../../../core/clock.ts";
import type { ToolContext } from "../../../core/context.ts";
import { describeError, ToolyardError } from "../../../core/errors.ts";
import type { Actor } from "../../../core/events.ts";
import { type ActionEnding, type ActionWatch, onlyLooks } from "../actions/action-watch.ts";
import type { Action } from "../actions/action.ts";
import type { Operator } from "../actions/operator.ts";
import { ActionHistory, type HistoryEntry } from "./action-history.ts";

/** What an episode needs of the call that does something in it. */
export type EpisodeCall = Pick<ToolContext, "signal" | "control" | "emit">;

/** Keeps what is done, with the screen after it. */
export interface EpisodeRecorder {
  /** The settled screen's SHA-256, once it is kept; `null` when it could not be. Never throws. */
  keepScreen(operator: Operator, signal: AbortSignal): Promise<string | null>;
  /** Never throws. */
  keepEntry(entry: HistoryEntry): Promise<void>;
}

/** What was begun, for whoever ends it. */
interface Begun {
  readonly action: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly actor: Actor;
  readonly at: Date;
  readonly startedAt: number;
}

/** How a session's task goes: what was asked, what was done, and whether the agent said that it is over. */
export class Episode {
  readonly history = new ActionHistory();
  readonly #clock: Clock;
  readonly #recorders = new Set<EpisodeRecorder>();
  /** What the agent is to do, as its observations tell it. */
  instruction: string | null = null;
  /** What the agent said of its task, unless it went on. */
  ended: "done" | "fail" | null = null;
  /** How the task is to be judged when an evaluation does not say, as it was given. */
  evaluator: unknown = undefined;

  constructor(clock: Clock, instruction: string | null = null) {
    this.#clock = clock;
    this.instruction = instruction;
  }

  /** Records what follows, until {@link stopRecording}. */
  record(recorder: EpisodeRecorder): void {
    this.#recorders.add(recorder);
  }

  stopRecording(recorder: EpisodeRecorder): void {
    this.#recorders.delete(recorder);
  }

  /** Begins anew with another task: nothing has been done. A recording goes on. */
  restart(instruction: string | null = null, evaluator?: unknown): void {
    this.history.clear();
    this.instruction = instruction;
    this.ended = null;
    this.evaluator = evaluator;
  }

  /** Sees the actions of a call: refuses input while somebody else has control, and remembers what was done. */
  watch(operator: Operator, call: EpisodeCall): ActionWatch {
    return {
      begin: (action: Action) => {
        const actor = onlyLooks(action) ? "agent" : (call.control?.demand() ?? "agent");
        const { action: name, ...params } = action;
        const begun = this.#begin(name, params, actor);
        return (ending: ActionEnding) => this.#end(begun, ending, operator, call, !onlyLooks(action));
      },
    };
  }

  /**
   * Runs a tool that is no action of the table, and remembers it as one unless it did some itself.
   *
   * @throws ToolyardError `control_taken` while somebody else has control.
   */
  async aroundTool<T>(
    name: string,
    params: Readonly<Record<string, unknown>>,
    operator: Operator,
    call: EpisodeCall,
    work: () => Promise<T>,
  ): Promise<T> {
    const before = this.history.total;
    const begun = this.#begin(name, params, call.control?.demand() ?? "agent");
    const end = async (error?: unknown) => {
      if (this.history.total > before) return;
      await this.#end(begun, error === undefined ? null : { error }, operator, call, true);
    };
    let result: T;
    try {
      result = await work();
    } catch (error) {
      await end(error);
      throw error;
    }
    await end();
    return result;
  }

  /** The agent says that its task is over. */
  async end(how: "done" | "fail", params: Readonly<Record<string, unknown>>, operator: Operator, call: EpisodeCall) {
    this.ended = how;
    await this.#end(this.#begin(how, params, "agent"), null, operator, call, false);
  }

  #begin(action: string, params: Readonly<Record<string, unknown>>, actor: Actor): Begun {
    return { action, params, actor, at: this.#clock.date(), startedAt: this.#clock.now() };
  }

  async #end(
    { action, params, actor, at, startedAt }: Begun,
    ending: ActionEnding | null,
    operator: Operator,
    call: EpisodeCall,
    changes: boolean,
  ): Promise<void> {
    const durationMs = Math.round((this.#clock.now() - startedAt) * 10) / 10;
    const failure = ending !== null && "error" in ending ? ending.error : undefined;
    // Whoever goes on has not given up.
    if (changes && failure === undefined) this.ended = null;
    const screenshot = changes && failure === undefined ? await this.#keepScreen(operator, call.signal) : null;
    const entry = this.history.add({
      at: at.toISOString(),
      actor,
      action,
      params,
      outcome: failure === undefined ? "ok" : toOutcome(failure),
      error: failure === undefined ? null : toMessage(failure),
      duration_ms: durationMs,
      screenshot,
    });
    for (const recorder of this.#recorders) {
      // oxlint-disable-next-line no-await-in-loop -- there is hardly ever more than one
      await recorder.keepEntry(entry);
    }
    const { x, y } = operator.driver.position;
    const { index, outcome } = entry;
    call.emit?.("desktop.action", {
      index,
      action,
      position: [x, y],
      outcome,
      duration_ms: durationMs,
      screenshot,
    });
  }

  async #keepScreen(operator: Operator, signal: AbortSignal): Promise<string | null> {
    let screenshot: string | null = null;
    for (const recorder of this.#recorders) {
      // oxlint-disable-next-line no-await-in-loop -- there is hardly ever more than one
      screenshot = await recorder.keepScreen(operator, signal);
    }
    return screenshot;
  }
}

function toOutcome(error: unknown): string {
  return ToolyardError.is(error) ? error.outcome : "infra_error";
}

/** What any other throwable says is for the log alone. */
function toMessage(error: unknown): string {
  return ToolyardError.is(error) ? error.message : (describeError(error).split(":")[0] ?? "Error");
}
