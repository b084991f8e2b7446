import type { ActionsOf } from "../../core/action.ts";
import type { DocumentTools } from "./document-tools.ts";
import type { ListingTools } from "./listing-tools.ts";
import type { SearchTools } from "./search-tools.ts";

/** The actions of the rag backend, for the typed client. */
export interface RagActions extends ActionsOf<SearchTools & DocumentTools & ListingTools, "rag"> {}
