import { z } from "zod";
import type { CompiledLanguageName } from "./compiled-languages.ts";

/** The languages that have kernels; TypeScript runs in JavaScript's after its types are stripped. */
export const KERNEL_LANGUAGES = ["javascript", "typescript", "python", "bash"] as const;
/** The languages of `code:run`. */
export const LANGUAGES = [
  ...KERNEL_LANGUAGES,
  ...(["c", "cpp", "go", "java", "perl", "php", "r", "ruby", "rust"] as const),
] as const satisfies readonly ((typeof KERNEL_LANGUAGES)[number] | CompiledLanguageName)[];

/** How callers name an interpreter. */
export const KernelName = z
  .string()
  .min(1)
  .max(64)
  .describe("A name of your own; kernels share nothing but the files of their sandbox.");

export const RunParams = z.strictObject({
  language: z.enum(LANGUAGES).default("javascript"),
  code: z.string().max(1024 * 1024),
  kernel: KernelName.optional().describe("Which interpreter runs it; by default one for each language."),
  timeout_ms: z.int().min(1).optional().describe("Milliseconds; the code is stopped then."),
});

export const RestartParams = z.strictObject({
  kernel: KernelName.optional().describe("The kernel to restart; all by default."),
});

const CodeErrorShape = z.object({
  name: z.string(),
  message: z.string(),
  line: z.int().optional(),
  traceback: z.string(),
});

const DisplayShape = z.object({
  is_result: z
    .boolean()
    .describe("It is the last expression's value; else display(…), a figure or the like showed it."),
  text: z.string().optional(),
  html: z.string().optional(),
  markdown: z.string().optional(),
  json: z.unknown().optional(),
  image: z.object({ media_type: z.enum(["image/png", "image/jpeg", "image/svg+xml"]), base64: z.string() }).optional(),
  table: z
    .object({
      columns: z.array(z.string()),
      rows: z.array(z.array(z.unknown())),
      total_rows: z.int(),
      truncated: z.boolean(),
    })
    .optional(),
  omitted: z.array(z.string()).describe("Forms that it has and that were too large."),
});

export const RunResult = z.object({
  language: z.enum(LANGUAGES),
  runtime: z.string(),
  kernel: z.string(),
  stdout: z.string(),
  stderr: z.string(),
  result: z.unknown().describe("The last expression as JSON; null where it has none or JSON cannot hold it."),
  text: z.string().nullable().describe("The last expression as people read it."),
  lossy: z.array(z.string()).describe("Parts of the result that JSON cannot hold, as `$.path: what it was`."),
  results: z.array(DisplayShape).describe("What the code showed, in every form that it has: tables, figures, HTML …"),
  results_omitted: z.int().describe("How many more it showed that were over the limit."),
  error: CodeErrorShape.nullable().describe("What the code raised."),
  exit_code: z.int().nullable().describe("Of bash, and of an interpreter that ended itself."),
  signal: z.string().nullable(),
  truncated: z.object({
    stdout: z.boolean(),
    stderr: z.boolean(),
    result: z.boolean(),
    stdout_bytes: z.int(),
    stderr_bytes: z.int(),
  }),
  execution_count: z.int(),
  duration_ms: z.number(),
  state_lost: z.boolean().describe("The interpreter was replaced: its variables are gone."),
});
export type RunResult = z.infer<typeof RunResult>;

export const RestartResult = z.object({ restarted: z.array(z.string()).describe("The names of the kernels.") });
export type RestartResult = z.infer<typeof RestartResult>;

export const KernelsResult = z.object({
  kernels: z.array(
    z.object({
      name: z.string(),
      language: z.string(),
      runtime: z.string(),
      execution_count: z.int(),
      busy: z.boolean().describe("Whether code runs in it, or waits for its turn."),
    }),
  ),
});
export type KernelsResult = z.infer<typeof KernelsResult>;

export const InterruptParams = z.strictObject({
  kernel: KernelName.optional().describe("The kernel to interrupt; all by default."),
});
export const InterruptResult = z.object({
  interrupted: z.array(z.string()).describe("The names of the kernels in which something ran or waited."),
});
export type InterruptResult = z.infer<typeof InterruptResult>;

export const ResetResult = z.object({ reset: z.literal(true) });
export type ResetResult = z.infer<typeof ResetResult>;

export const StatsResult = z.object({
  memory_bytes: z.number(),
  memory_limit_bytes: z.number().nullable(),
  memory_peak_bytes: z.number().nullable(),
  cpu_seconds: z.number(),
  cpus: z.number().nullable().describe("How many processors it may use; null where that is not bounded."),
  pids: z.int(),
  pids_limit: z.int().nullable(),
  disk_bytes: z.number().describe("Of the folders that can be written to."),
  disk_limit_bytes: z.number().nullable(),
  uptime_seconds: z.number(),
  source: z.enum(["cgroup", "processes"]).describe("Where the numbers come from."),
});
export type StatsResult = z.infer<typeof StatsResult>;

export const InstallParams = z.strictObject({
  packages: z
    .array(
      z
        .string()
        .min(1)
        .max(512)
        // One that starts with a dash would be an option of the manager.
        .regex(/^[^-\s\0][^\0\r\n]*$/, { error: "a package is a name, with a version or without, or a path" }),
    )
    .min(1)
    .max(100)
    .describe("Names, with a version or without (`pandas==2.2`, `left-pad@1`), or paths of packages in the sandbox."),
  manager: z.enum(["pip", "npm"]).default("pip"),
  timeout_ms: z.int().min(1).optional(),
});
export const InstallResult = z.object({
  manager: z.enum(["pip", "npm"]),
  packages: z.array(z.string()),
  installed: z.boolean(),
  exit_code: z.int().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  duration_ms: z.number(),
});
export type InstallResult = z.infer<typeof InstallResult>;
