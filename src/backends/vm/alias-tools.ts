import { z } from "zod";
import { type Input, tool } from "../../core/tool.ts";
import { ACTION_SCHEMAS, ImagePoint } from "./actions/action.ts";
import { Ref } from "./actions/names.ts";
import { perform, type VmContext } from "./session.ts";

const ACTS = { destructiveHint: true };
const Modifiers = z.array(z.string().min(1).max(100)).max(8).optional().describe("Keys that are held meanwhile.");
const ClickParams = z
  .strictObject({
    coordinate: ImagePoint.optional(),
    ref: Ref.optional().describe("The middle of this element, instead of a coordinate."),
    modifiers: Modifiers,
  })
  .refine(({ coordinate, ref }) => coordinate === undefined || ref === undefined, {
    error: "give either coordinate or ref",
  });
const MoveParams = z.strictObject({ coordinate: ImagePoint });
const LeftDragParams = z.strictObject({ start_coordinate: ImagePoint, coordinate: ImagePoint, modifiers: Modifiers });
const DragPathParams = z.strictObject({
  path: z.array(ImagePoint).min(2).max(1_000),
  button: ACTION_SCHEMAS.mouse_down.shape.button,
  duration: z.number().min(0).max(300).optional(),
  modifiers: Modifiers,
});
const Done = z.object({ action: z.string() });

/** Actions under the names that models know, with points as they write them. */
export class AliasTools {
  @tool({ description: "Click with the left button.", params: ClickParams, result: Done, annotations: ACTS })
  leftClick(params: Input<typeof ClickParams>, context: VmContext) {
    return perform({ action: "click", ...params }, context);
  }

  @tool({ description: "Click with the middle button.", params: ClickParams, result: Done, annotations: ACTS })
  middleClick(params: Input<typeof ClickParams>, context: VmContext) {
    return perform({ action: "click", button: "middle", ...params }, context);
  }

  @tool({
    description: "Click three times with the left button.",
    params: ClickParams,
    result: Done,
    annotations: ACTS,
  })
  tripleClick(params: Input<typeof ClickParams>, context: VmContext) {
    return perform({ action: "click", count: 3, ...params }, context);
  }

  @tool({ description: "Move the pointer to a coordinate.", params: MoveParams, result: Done, annotations: ACTS })
  mouseMove({ coordinate }: Input<typeof MoveParams>, context: VmContext) {
    return perform({ action: "mouse_move", coordinate }, context);
  }

  @tool({ description: "Drag with the left button.", params: LeftDragParams, result: Done, annotations: ACTS })
  leftClickDrag(params: Input<typeof LeftDragParams>, context: VmContext) {
    const { start_coordinate: start, coordinate, modifiers } = params;
    return perform({ action: "drag", path: [start, coordinate], modifiers }, context);
  }

  @tool({ description: "Drag along a path of points.", params: DragPathParams, result: Done, annotations: ACTS })
  dragPath(params: Input<typeof DragPathParams>, context: VmContext) {
    return perform({ action: "drag", ...params }, context);
  }
}
