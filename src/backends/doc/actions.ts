import type { ActionsOf } from "../../core/action.ts";
import type { LibraryTools } from "./library-tools.ts";
import type { ReadTools } from "./read-tools.ts";
import type { SearchTools } from "./search-tools.ts";

/** The actions of the doc backend, for the typed client. */
export interface DocActions extends ActionsOf<LibraryTools & SearchTools & ReadTools, "doc"> {}
