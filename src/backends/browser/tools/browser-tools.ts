import { type BoundTool, scanTools } from "../../../core/tool.ts";
import { InputTools } from "./input-tools.ts";
import { NavigationTools } from "./navigation-tools.ts";
import { ReadingTools } from "./reading-tools.ts";
import { StateTools } from "./state-tools.ts";

/** All tools of a browser by their names. */
export function browserTools(): ReadonlyMap<string, BoundTool> {
  return scanTools(new NavigationTools(), new InputTools(), new ReadingTools(), new StateTools());
}
