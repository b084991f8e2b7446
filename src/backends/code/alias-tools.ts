import { posix } from "node:path";
import { ToolyardError } from "../../core/errors.ts";
import { type Input, tool } from "../../core/tool.ts";
import {
  ExecuteCommandParams,
  ExecuteCommandResult,
  ListFilesParams,
  ListFilesResult,
  ReadFileParams,
  ReadFileResult,
  RunCodeParams,
  RunCodeResult,
  WriteFileParams,
  WriteFileResult,
} from "./alias-schemas.ts";
import type { ToolLimits } from "./code-tools.ts";
import { MAX_READ_BYTES } from "./file-schemas.ts";
import { readFile } from "./read-file.ts";
import { runAnyCode } from "./run-code.ts";
import { runCommand } from "./run-command.ts";
import type { CodeContext } from "./session.ts";

const LANGUAGES = {
  python: "python",
  java: "java",
  js: "javascript",
  go: "go",
  bash: "bash",
  ts: "typescript",
} as const;
const MAX_LISTED = 10_000;

/** The five tools of agents that know no others, under names without a prefix; what fails by the model's doing is told as text. */
export class AliasTools {
  readonly #limits: ToolLimits;

  constructor(limits: ToolLimits) {
    this.#limits = limits;
  }

  @tool({
    name: "execute_command",
    bare: true,
    description: "Execute a shell command in the sandbox",
    params: ExecuteCommandParams,
    result: ExecuteCommandResult,
    annotations: { title: "Execute a command", destructiveHint: true },
  })
  async executeCommand(
    { command }: Input<typeof ExecuteCommandParams>,
    context: CodeContext,
  ): Promise<ExecuteCommandResult> {
    const { maxTimeoutMs } = this.#limits;
    const done = await runCommand({ command, shell: "bash", maxTimeoutMs }, context);
    const { stdout, stderr, exit_code } = done;
    if (exit_code !== 0 || done.error !== null) context.setOutcome("tool_error");
    // A command that ran is a success whatever it answered: its exit code is for the reader.
    return { ...toldOutput(stdout, stderr, done.error), stdout, stderr, exit_code };
  }

  @tool({
    name: "read_file",
    bare: true,
    description: "Read the contents of a file in the sandbox",
    params: ReadFileParams,
    result: ReadFileResult,
    annotations: { title: "Read a file", readOnlyHint: true, idempotentHint: true },
  })
  readFile({ path }: Input<typeof ReadFileParams>, context: CodeContext): Promise<ReadFileResult> {
    return told(context, async () => {
      const { files } = context.session.data.sandboxes.able("files");
      const wanted = { path, encoding: "auto", line_numbers: false, max_bytes: MAX_READ_BYTES } as const;
      const { content, truncated, size_bytes: size } = await readFile(files, wanted, context.signal);
      return truncated ? `${content}\n[the first ${MAX_READ_BYTES} of ${size} bytes]` : content;
    });
  }

  @tool({
    name: "write_file",
    bare: true,
    description: "Write content to a file in the sandbox",
    params: WriteFileParams,
    result: WriteFileResult,
    annotations: { title: "Write a file", destructiveHint: true },
  })
  writeFile({ path, content }: Input<typeof WriteFileParams>, context: CodeContext): Promise<WriteFileResult> {
    return told(context, async () => {
      const { files } = context.session.data.sandboxes.able("files");
      const { sizeBytes } = await files.write(path, Buffer.from(content, "utf8"), {}, context.signal);
      return `File written successfully: ${path} (${sizeBytes} bytes)`;
    });
  }

  @tool({
    name: "list_files",
    bare: true,
    description: "List files in a directory of the sandbox that match a pattern",
    params: ListFilesParams,
    result: ListFilesResult,
    annotations: { title: "List files", readOnlyHint: true, idempotentHint: true },
  })
  async listFiles({ path, pattern }: Input<typeof ListFilesParams>, context: CodeContext): Promise<ListFilesResult> {
    let found: string[] = [];
    const said = await told(context, async () => {
      const { files } = context.session.data.sandboxes.able("files");
      const { entries, truncated } = await files.glob(pattern, { path, limit: MAX_LISTED }, context.signal);
      found = entries.map((entry) => posix.normalize(entry.path));
      return [...found, ...(truncated ? [`[the first ${MAX_LISTED}]`] : [])].join("\n");
    });
    return { ...said, files: found };
  }

  @tool({
    name: "run_code",
    bare: true,
    description: "Execute code in the sandbox",
    params: RunCodeParams,
    result: RunCodeResult,
    annotations: { title: "Execute code", destructiveHint: false },
  })
  async runCode({ code, language }: Input<typeof RunCodeParams>, context: CodeContext): Promise<RunCodeResult> {
    const { maxTimeoutMs } = this.#limits;
    const done = await runAnyCode({ language: LANGUAGES[language], code, maxTimeoutMs }, context);
    const { stdout, stderr, text, error } = done;
    if (error !== null || (done.exit_code ?? 0) !== 0) context.setOutcome("tool_error");
    return { ...toldOutput(withValue(stdout, text), stderr, error), stdout, stderr, result: text };
  }
}

interface Said {
  status: "success" | "error";
  output: string;
  error: string | null;
}

/** Puts the value of the last expression after what was printed, on a line of its own. */
function withValue(stdout: string, text: string | null): string {
  if (text === null || text === "") return stdout;
  return stdout === "" || stdout.endsWith("\n") ? stdout + text : `${stdout}\n${text}`;
}

function toldOutput(stdout: string, stderr: string, error: { name: string; message: string } | null): Said {
  const output = stdout + (stderr === "" ? "" : `\n${stderr}`);
  if (error === null) return { status: "success", output, error: null };
  return { status: "error", output, error: `${error.name}: ${error.message}` };
}

/** Tells what the model got wrong as text, for it to read; what is not its doing stays an error of the call. */
async function told(context: CodeContext, work: () => Promise<string>): Promise<Said> {
  try {
    return { status: "success", output: await work(), error: null };
  } catch (error) {
    if (!ToolyardError.is(error) || (error.outcome !== "tool_error" && error.error !== "path_refused")) throw error;
    context.setOutcome("tool_error");
    return { status: "error", output: "", error: error.message };
  }
}
