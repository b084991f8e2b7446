import type { ActionsOf } from "../../core/action.ts";
import type { TerminalTools } from "../../core/terminal-tools.ts";
import type { AliasTools } from "./alias-tools.ts";
import type { ArchiveTools } from "./archive-tools.ts";
import type { BashTools } from "./bash-tools.ts";
import type { CodeTools } from "./code-tools.ts";
import type { FileReadTools } from "./file-read-tools.ts";
import type { FileWriteTools } from "./file-write-tools.ts";
import type { SandboxTools } from "./sandbox-tools.ts";
import type { CodeSession } from "./session.ts";
import type { SnapshotTools } from "./snapshot-tools.ts";

type OfCode = ActionsOf<CodeTools, "code", { resetSandbox: "code:reset" }>;
type OfBash = ActionsOf<BashTools, "bash">;
type OfFiles = ActionsOf<FileReadTools & FileWriteTools & ArchiveTools, "file">;
type OfSandbox = ActionsOf<SandboxTools & SnapshotTools, "sandbox">;
type OfTerminals = ActionsOf<TerminalTools<CodeSession>, "terminal">;
type OfAliases = ActionsOf<
  AliasTools,
  "code",
  {
    executeCommand: "execute_command";
    readFile: "read_file";
    writeFile: "write_file";
    listFiles: "list_files";
    runCode: "run_code";
  }
>;

/** The actions of the code backend, for the typed client. */
export interface CodeActions extends OfCode, OfBash, OfFiles, OfSandbox, OfTerminals, OfAliases {}
