import type { ActionsOf } from "../../core/action.ts";
import type CodeBackend from "./backend.ts";

/** The actions of the code backend, for the typed client. */
export type CodeActions = ActionsOf<CodeBackend, "code">;
