import { systemClock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import type { Session } from "../../../core/session.ts";
import { type BoundTool, type Input, tool } from "../../../core/tool.ts";
import { takeScreenshot } from "../actions/screenshot.ts";
import { sleep } from "../desktop/clock-sleep.ts";
import { setUp } from "../desktop/setup.ts";
import type { VmContext, VmSession } from "../session.ts";
import { cutDown } from "./action-history.ts";
import * as schema from "./episode-schemas.ts";
import { evaluate, INFEASIBLE } from "./evaluation/evaluate.ts";
import { Evaluator, planChecks } from "./evaluation/evaluator.ts";
import { isRecord } from "./evaluation/metrics/equality.ts";
import { readSetup } from "./foreign-setup.ts";

const LOOKS = { readOnlyHint: true, idempotentHint: true };

/** What the tools of an episode need of the backend that they belong to. */
export interface EpisodeToolsOptions {
  /** All of the backend's tools, which see what the screen does not show. */
  tools(): ReadonlyMap<string, BoundTool>;
  /** Brings a session's desktop to what a fresh one is, the session's own setup included. */
  reset(session: Session<VmSession>, signal: AbortSignal): Promise<void>;
}

/** The surface of an episode: how it looks now, what was done so far, and how well it went. */
export class EpisodeTools {
  readonly #options: EpisodeToolsOptions;

  constructor(options: EpisodeToolsOptions) {
    this.#options = options;
  }

  @tool({
    description:
      "Observe: the screen once it is quiet, the instruction and, when asked for, the accessibility tree and the text of the " +
      "terminal in front.",
    params: schema.ObserveParams,
    result: schema.ObserveResult,
    annotations: LOOKS,
  })
  async observe(params: Input<typeof schema.ObserveParams>, context: VmContext) {
    const { screenshot, accessibility_tree: tree, terminal, ...how } = params;
    const { desktop, episode } = context.session.data;
    const { operator } = desktop;
    await operator.settle(context.signal);
    const picture = screenshot
      ? await takeScreenshot(operator, { action: "screenshot", ...how }, context.signal)
      : undefined;
    const text = terminal ? await this.#ask("terminal_text", {}, context) : undefined;
    return {
      screenshot: picture?.bytes.toString("base64") ?? null,
      format: picture?.format ?? null,
      size: picture === undefined ? null : [picture.width, picture.height],
      accessibility_tree: tree ? await this.#ask("accessibility_tree", {}, context) : null,
      terminal: isRecord(text) && typeof text["text"] === "string" ? text["text"] : null,
      instruction: episode.instruction,
      steps: episode.history.total,
      ended: episode.ended,
    };
  }

  @tool({
    description:
      "Begin anew: end every program, bring files back to what a fresh desktop has, do the setup, and take a new task. The history is empty then.",
    params: schema.ResetParams,
    result: schema.ResetResult,
    annotations: { destructiveHint: true, idempotentHint: true },
    timeoutMs: 180_000,
  })
  async reset({ snapshot, instruction, evaluator, config }: Input<typeof schema.ResetParams>, context: VmContext) {
    const { session, signal } = context;
    const { desktop, episode, instruction: own } = session.data;
    const steps = readSetup(config, "config");
    if (evaluator !== undefined) checkEvaluator(evaluator);
    context.control?.demand();
    if (snapshot === undefined) await this.#options.reset(session, signal);
    else await desktop.restore(snapshot, signal);
    desktop.operator.showAsUsual();
    await setUp(desktop.running, steps, nap, signal);
    episode.restart(instruction ?? own, evaluator);
    const { width, height } = desktop.operator.driver.size;
    return { reset: true, instruction: episode.instruction, resolution: `${width}x${height}` };
  }

  @tool({
    description: "Tell what was done so far: each action with who did it, when, its params and how it ended.",
    params: schema.HistoryParams,
    result: schema.HistoryResult,
    annotations: LOOKS,
  })
  history({ after, limit }: Input<typeof schema.HistoryParams>, { session }: VmContext) {
    const { history, ended } = session.data.episode;
    return { actions: history.since(after, limit), total: history.total, ended };
  }

  @tool({
    description:
      "Judge what was left, as OSWorld's evaluators do: getters look at files, commands, windows, tabs or the screen, metrics " +
      "score it from 0 to 1. What keeps it from looking or judging is an error and never a score.",
    params: schema.EvaluateParams,
    result: schema.EvaluateResult,
    annotations: { destructiveHint: true },
    timeoutMs: 180_000,
  })
  async evaluate({ evaluator: given }: Input<typeof schema.EvaluateParams>, context: VmContext) {
    const { desktop, episode } = context.session.data;
    const { signal } = context;
    const evaluator = given ?? toOwn(episode.evaluator);
    const steps = readSetup(evaluator.postconfig, "evaluator.postconfig");
    const world = {
      running: desktop.running,
      operator: desktop.operator,
      clock: systemClock,
      ask: (name: string, params: Readonly<Record<string, unknown>>) => this.#ask(name, params, context),
    };
    const evaluation = await evaluate(evaluator, {
      world,
      lastActionFailed: episode.ended === "fail",
      setUp: () => setUp(desktop.running, steps, nap, signal),
      signal,
    });
    return { ...evaluation, evaluator: cutDown(evaluator) };
  }

  /** Asks one of the backend's other tools as a part of this call. */
  async #ask(name: string, params: Readonly<Record<string, unknown>>, context: VmContext): Promise<unknown> {
    const asked = this.#options.tools().get(name);
    if (asked === undefined) throw new ToolyardError("runtime_unavailable", `this backend has no vm:${name}`);
    // A tool of this very backend takes its sessions' contexts.
    return asked.invoke(asked.definition.params.parse(params), context as never);
  }
}

function nap(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(systemClock, ms, signal);
}

/** Throws for an evaluator that can never judge. */
function checkEvaluator(evaluator: Evaluator): void {
  readSetup(evaluator.postconfig, "evaluator.postconfig");
  if (evaluator.func !== INFEASIBLE) planChecks(evaluator);
}

function toOwn(evaluator: unknown): Evaluator {
  if (evaluator === undefined) {
    throw new ToolyardError("missing_field", "the task has no evaluator of its own: give one", {
      details: { field: "evaluator" },
    });
  }
  return Evaluator.parse(evaluator);
}
