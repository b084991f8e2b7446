import { z } from "zod";
import { ToolyardError } from "../../../core/errors.ts";
import { SetupStep } from "../desktop/setup.ts";

const Command = z.union([z.string().min(1), z.array(z.string()).min(1)]);

/** The steps of OSWorld's tasks that have a counterpart here, by their `type`. */
const FOREIGN: Readonly<Record<string, (parameters: unknown) => unknown[]>> = {
  sleep: (given) => [{ do: "wait", ms: Math.round(z.object({ seconds: z.number() }).parse(given).seconds * 1_000) }],
  execute: toRun,
  command: toRun,
  launch: (given) => [{ do: "launch", command: z.object({ command: Command }).parse(given).command }],
  chrome_open_tabs: (given) =>
    z
      .object({ urls_to_open: z.array(z.string()) })
      .parse(given)
      .urls_to_open.map((url) => ({ do: "open", url })),
};

/**
 * Reads setup steps, our own (`do`) and those of OSWorld's tasks (`type` and `parameters`).
 *
 * @throws ToolyardError `invalid_input` for a step that there is not; OSWorld's that fetch something are not there, since a desktop
 *   gets its files from who sets it up.
 */
export function readSetup(steps: readonly Readonly<Record<string, unknown>>[], where: string): readonly SetupStep[] {
  return steps.flatMap((step, index) => {
    const refuse = (what: string) => new ToolyardError("invalid_input", `${where}.${index}: ${what}`);
    const { type, parameters } = step;
    if (typeof type !== "string") return [parse(step, refuse)];
    const translate = Object.hasOwn(FOREIGN, type) ? FOREIGN[type] : undefined;
    if (translate === undefined) throw refuse(`there is no setup step "${type.slice(0, 64)}"`);
    let own: unknown[];
    try {
      own = translate(parameters);
    } catch (error) {
      throw refuse(error instanceof z.ZodError ? (error.issues[0]?.message ?? "it is wrong") : String(error));
    }
    return own.map((one) => parse(one, refuse));
  });
}

function toRun(given: unknown): unknown[] {
  return [{ do: "run", command: z.object({ command: Command }).parse(given).command }];
}

function parse(step: unknown, refuse: (what: string) => ToolyardError): SetupStep {
  const parsed = SetupStep.safeParse(step);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw refuse(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? "it is wrong"}`);
}
