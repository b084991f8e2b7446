import { z } from "zod";
import { ISOLATION_LEVELS } from "../../core/runtime.ts";

/** The languages of `code:run`; TypeScript runs in JavaScript's kernel after its types are stripped. */
export const LANGUAGES = ["javascript", "typescript", "python", "bash"] as const;

const KernelName = z
  .string()
  .min(1)
  .max(64)
  .describe("A name of your own; kernels share nothing but the files of their sandbox.");
const Limit = (maximum: number) => z.int().min(1).max(maximum);

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

export const RunResult = z.object({
  language: z.enum(LANGUAGES),
  runtime: z.string(),
  kernel: z.string(),
  stdout: z.string(),
  stderr: z.string(),
  result: z.unknown().describe("The last expression as JSON; null where it has none or JSON cannot hold it."),
  text: z.string().nullable().describe("The last expression as people read it."),
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
    }),
  ),
});
export type KernelsResult = z.infer<typeof KernelsResult>;

/** The backend's entry in the config file; every maximum bounds what a session may ask for. */
export const CodeConfig = z.strictObject({
  /** A runtime's name, or `auto`. */
  runtime: z.string().default("auto"),
  min_isolation: z.enum(ISOLATION_LEVELS).optional(),
  memory_mib: Limit(1 << 20).optional(),
  pids: Limit(1 << 16).optional(),
  disk_mib: Limit(1 << 20).optional(),
  output_bytes: Limit(8 << 20).optional(),
  /** Milliseconds that code may run when the call does not say. */
  timeout_ms: Limit(86_400_000).default(60_000),
  max_timeout_ms: Limit(86_400_000).default(600_000),
  max_memory_mib: Limit(1 << 20).default(2048),
  max_pids: Limit(1 << 16).default(512),
  max_disk_mib: Limit(1 << 20).default(1024),
  max_output_bytes: Limit(8 << 20).default(1024 * 1024),
  /** Kernels of one session at once. */
  max_kernels: Limit(256).default(8),
});
export type CodeConfig = z.infer<typeof CodeConfig>;

/** Builds the schema of what a session may set, within the config's maxima. */
export function createSessionSchema(config: CodeConfig) {
  return z.strictObject({
    /** A runtime's name, or `auto`. */
    runtime: z.string().optional(),
    /** Refused when no runtime is as strong; never weaker than the config's own. */
    min_isolation: z.enum(ISOLATION_LEVELS).optional(),
    memory_mib: Limit(config.max_memory_mib).optional(),
    pids: Limit(config.max_pids).optional(),
    disk_mib: Limit(config.max_disk_mib).optional(),
    output_bytes: Limit(config.max_output_bytes).optional(),
    /** Milliseconds that code may run when the call does not say. */
    timeout_ms: Limit(config.max_timeout_ms).optional(),
    /** Environment variables of user code. */
    environment: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(32_768)).optional(),
  });
}
export type CodeSessionConfig = z.infer<ReturnType<typeof createSessionSchema>>;
