import type { Point, View } from "../screen/view.ts";
import type { AgentNode, AgentWindow, Box } from "./agent-answers.ts";

/** A rectangle in pixels of the screenshots. */
export interface ImageBox extends Point {
  readonly width: number;
  readonly height: number;
}

/** Where a part of the screen is in its screenshots; nothing that is seen there is left without a size. */
export function toImageBox([x, y, width, height]: Box, { screen, image }: View): ImageBox {
  const across = image.width / screen.width;
  const down = image.height / screen.height;
  return {
    x: Math.round(x * across),
    y: Math.round(y * down),
    width: Math.max(1, Math.round(width * across)),
    height: Math.max(1, Math.round(height * down)),
  };
}

/** A window as callers see it. */
export function toToldWindow({ box, ...window }: AgentWindow, view: View) {
  return { ...window, box: toImageBox([box.x, box.y, box.width, box.height], view) };
}

/** An element as callers see it; what it has nothing of is left out. */
export function toToldElement({ parent, depth, box, ...node }: AgentNode, view: View) {
  return {
    ref: node.ref,
    role: node.role,
    name: node.name,
    ...(node.description === "" ? {} : { description: node.description }),
    ...(node.text === null ? {} : { text: node.text }),
    ...(node.value === null ? {} : { value: node.value }),
    states: node.states,
    ...(node.actions.length === 0 ? {} : { actions: node.actions }),
    ...(box === null ? {} : { box: toImageBox(box, view) }),
    depth,
    parent,
  };
}
