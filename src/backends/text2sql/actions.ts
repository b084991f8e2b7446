import type { ActionsOf } from "../../core/action.ts";
import type Text2SqlBackend from "./backend.ts";

/** The actions of the text2sql backend, for the typed client. */
export interface Text2SqlActions extends ActionsOf<Text2SqlBackend, "text2sql"> {}
