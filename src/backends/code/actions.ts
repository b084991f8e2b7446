import type { ActionsOf } from "../../core/action.ts";
import type { CodeTools } from "./code-tools.ts";

/** The actions of the code backend, for the typed client. */
export interface CodeActions extends CodeToolActions {}

type CodeToolActions = ActionsOf<CodeTools, "code", { resetSandbox: "code:reset" }>;
