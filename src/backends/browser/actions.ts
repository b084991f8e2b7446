import type { ActionsOf } from "../../core/action.ts";
import type { InputTools } from "./tools/input-tools.ts";
import type { NavigationTools } from "./tools/navigation-tools.ts";
import type { ReadingTools } from "./tools/reading-tools.ts";
import type { StateTools } from "./tools/state-tools.ts";

/** The actions of the browser backend, for the client's types. */
export interface BrowserActions
  extends
    ActionsOf<NavigationTools, "browser">,
    ActionsOf<InputTools, "browser">,
    ActionsOf<ReadingTools, "browser">,
    ActionsOf<StateTools, "browser"> {}
