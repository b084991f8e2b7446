import type { ActionsOf } from "../../core/action.ts";
import type DsBackend from "./backend.ts";

/** The actions of the ds backend, for the typed client. */
export interface DsActions extends ActionsOf<DsBackend, "ds"> {}
