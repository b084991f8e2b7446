import { z } from "zod";

const Told = {
  status: z.enum(["success", "error"]),
  output: z.string().describe("What a model reads of it."),
  error: z.string().nullable(),
};

export const ExecuteCommandParams = z.strictObject({
  command: z
    .string()
    .min(1)
    .max(1024 * 1024)
    .describe("The shell command to execute"),
});
export const ExecuteCommandResult = z.object({
  ...Told,
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.int().nullable(),
});
export type ExecuteCommandResult = z.infer<typeof ExecuteCommandResult>;

export const ReadFileParams = z.strictObject({ path: z.string().min(1).describe("The path of the file to read") });
export const ReadFileResult = z.object(Told);
export type ReadFileResult = z.infer<typeof ReadFileResult>;

export const WriteFileParams = z.strictObject({
  path: z.string().min(1).describe("The path of the file to write"),
  content: z
    .string()
    .max(8 << 20)
    .describe("The content of the file"),
});
export const WriteFileResult = z.object(Told);
export type WriteFileResult = z.infer<typeof WriteFileResult>;

export const ListFilesParams = z.strictObject({
  path: z.string().min(1).describe("The folder to look into"),
  pattern: z.string().min(1).max(1024).default("*").describe("A glob pattern of the files to list"),
});
export const ListFilesResult = z.object({ ...Told, files: z.array(z.string()) });
export type ListFilesResult = z.infer<typeof ListFilesResult>;

/** The names that the alias has for languages. */
export const ALIAS_LANGUAGES = ["python", "java", "js", "go", "bash", "ts"] as const;

export const RunCodeParams = z.strictObject({
  code: z
    .string()
    .max(1024 * 1024)
    .describe("The code to execute"),
  language: z.enum(ALIAS_LANGUAGES).describe("The language of the code"),
});
export const RunCodeResult = z.object({
  ...Told,
  stdout: z.string(),
  stderr: z.string(),
  result: z.string().nullable().describe("The value of the last expression, as text."),
});
export type RunCodeResult = z.infer<typeof RunCodeResult>;
