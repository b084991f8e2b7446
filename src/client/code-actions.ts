import type { Action } from "../core/action.ts";

/** The code backend's actions; a stand-in until src/backends/code exports its own `CodeActions`. */
export interface CodeActions {
  readonly "code:run": Action<
    {
      code: string;
      language?: "python" | "javascript" | "bash" | undefined;
    },
    {
      language: string;
      runtime: string;
      stdout: string;
      stderr: string;
      result?: unknown;
      text?: string | null;
      error: { name: string; message: string; line?: number; traceback: string } | null;
      exit_code?: number;
      execution_count: number;
      state_lost?: boolean;
    }
  >;
}
