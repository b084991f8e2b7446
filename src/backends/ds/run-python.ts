import { z } from "zod";
import { ToolyardError } from "../../core/errors.ts";
import type { SandboxCalls } from "./sandbox-calls.ts";
import type { RunPythonResult } from "./schemas.ts";

/** Its own interpreter, so that the names it offers are not in the way of `code:run`. */
const KERNEL = "ds";

const Ran = z.looseObject({
  stdout: z.string(),
  stderr: z.string(),
  result: z.unknown(),
  text: z.string().nullable(),
  results: z.array(z.looseObject({ image: z.looseObject({ media_type: z.string(), base64: z.string() }).optional() })),
  error: z.looseObject({ name: z.string(), message: z.string(), traceback: z.string() }).nullable(),
});
type Ran = z.infer<typeof Ran>;

/** The libraries that code may use without importing them, as the known tool has it; those that it names and that are there. */
const LIBRARIES: Readonly<Record<string, string>> = {
  ...{ pd: "pandas", np: "numpy", plt: "matplotlib.pyplot", sns: "seaborn", sm: "statsmodels.api" },
  ...{ scipy: "scipy", sklearn: "sklearn", os: "os", sys: "sys", json: "json", time: "time", datetime: "datetime" },
  ...{ re: "re", math: "math", random: "random", collections: "collections", itertools: "itertools" },
  ...{ warnings: "warnings" },
};

const PREPARE = `
def __toolyard_prepare(libraries):
    import importlib
    for name, module in libraries:
        if name not in globals():
            try:
                globals()[name] = importlib.import_module(module)
            except Exception:
                pass

def __toolyard_show(names):
    shown = {}
    for name in names:
        if name not in globals():
            continue
        value = globals()[name]
        if hasattr(value, "shape") and hasattr(value, "head"):
            shown[name] = f"shape={value.shape}\\n{value.head(5).to_string()}"
        else:
            text = str(value)
            shown[name] = text if len(text) <= 2000 else text[:2000] + "..."
    return shown

def load_csv(name, **options):
    import pandas
    return pandas.read_csv(name, **options)

def save_file(data, name, **options):
    if hasattr(data, "to_csv"):
        data.to_csv(name, **options)
    elif hasattr(data, "savefig"):
        data.savefig(name, **options)
    else:
        import pickle
        with open(name, "wb") as file:
            pickle.dump(data, file)
    return f"File saved to: {name}"

if "Path" not in globals():
    from pathlib import Path
`;

/** What python is asked to do. */
export interface PythonRun {
  readonly code: string;
  readonly returnVars: readonly string[];
  readonly timeoutMs: number;
  readonly maxCharacters: number;
}

/** Runs python in the worker's sandbox, whose interpreter keeps its variables as long as the session lives. */
export async function runPython(
  sandbox: SandboxCalls,
  { code, returnVars, timeoutMs, maxCharacters }: PythonRun,
): Promise<Omit<RunPythonResult, "files" | "files_not_copied">> {
  if (code.trim() === "") throw new ToolyardError("invalid_input", "the code is empty");
  const endsAt = performance.now() + timeoutMs;
  const run = async (text: string): Promise<Ran> => {
    const leftMs = Math.max(1, Math.floor(endsAt - performance.now()));
    const params = { language: "python", kernel: KERNEL, code: text, timeout_ms: leftMs };
    try {
      return await sandbox.call("code:run", params, Ran);
    } catch (error) {
      throw ToolyardError.is(error) && error.error === "timeout" ? withLimit(error, leftMs, timeoutMs) : error;
    }
  };
  const libraries = Object.entries(LIBRARIES).filter(([name]) => new RegExp(`\\b${name}\\b`).test(code));
  await run(`${PREPARE}\n__toolyard_prepare(${JSON.stringify(libraries)})`);
  const ran = await run(code);
  const shown =
    ran.error === null && returnVars.length > 0 ? await run(`__toolyard_show(${JSON.stringify(returnVars)})`) : null;
  const variables = z
    .record(z.string(), z.string())
    .catch({})
    .parse(shown?.result ?? {});
  const images = ran.results.flatMap(({ image }) => image ?? []);
  const facts = {
    ...{ stdout: ran.stdout, stderr: ran.stderr, value: ran.text, variables },
    error: ran.error === null ? null : { ...ran.error },
    images: images.map(({ media_type: type, base64 }, index) => ({ type, base64, description: `Figure ${index + 1}` })),
  };
  return { ...facts, result: clip(toText(facts), maxCharacters) };
}

/** A timeout in the words of who set it: what was left of the time says nothing to them. */
function withLimit(error: ToolyardError, leftMs: number, timeoutMs: number): ToolyardError {
  const details = { ...error.details, timeout_ms: timeoutMs };
  return new ToolyardError("timeout", error.message.replace(`${leftMs} ms`, `${timeoutMs} ms`), {
    ...{ details, cause: error },
    ...(error.suggestion !== undefined && { suggestion: error.suggestion }),
  });
}

type Facts = Pick<RunPythonResult, "stdout" | "stderr" | "value" | "variables" | "error" | "images">;

/** All of it as one text, in the known tool's order. */
function toText({ stdout, stderr, value, variables, error, images }: Facts): string {
  const output = [stdout, stderr].map((text) => text.trim()).filter((text) => text !== "");
  const shown = Object.entries(variables).map(([name, text]) => `${name} = ${text}`);
  const parts = [
    error !== null && `Execution Error:\n${error.traceback}`,
    output.length > 0 && `Standard Output:\n${output.join("\n")}`,
    value !== null && value !== "" && `Result:\n${value}`,
    shown.length > 0 && `Variables Inspection:\n${shown.join("\n")}`,
    images.length > 0 && `[Generated Images]:\nGenerated ${images.length} images (base64 data available).`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? "Execution successful (No output printed)." : parts.join("\n\n");
}

/** The beginning of a text that is too long, with what it was. */
export function clip(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  return `${text.slice(0, maxCharacters).toWellFormed()}\n\n... [truncated: ${text.length} characters in all] ...`;
}
