import type { ActionsOf } from "../../core/action.ts";
import type { FetchTools } from "./fetch-tools.ts";
import type { SearchTools } from "./search-tools.ts";
import type { VisitTools } from "./visit-tools.ts";

/** The actions of the web backend, for the typed client. */
export interface WebActions extends ActionsOf<SearchTools & VisitTools & FetchTools, "web"> {}
