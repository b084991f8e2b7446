import { z } from "zod";
import { type Input, tool } from "../../core/tool.ts";
import { ACTION_SCHEMAS, ImagePoint, isOneWay, MoveFields, ONE_WAY } from "./actions/action.ts";
import { Ref } from "./actions/names.ts";
import { KeyParams } from "./known-schemas.ts";
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
const MoveParams = z.strictObject(MoveFields).refine(isOneWay, ONE_WAY);
const LeftDragParams = z.strictObject({ start_coordinate: ImagePoint, coordinate: ImagePoint, modifiers: Modifiers });
const DragPathParams = z.strictObject({
  path: z.array(ImagePoint).min(2).max(1_000),
  button: ACTION_SCHEMAS.mouse_down.shape.button,
  duration: z.number().min(0).max(300).optional(),
  modifiers: Modifiers,
});
const HeldParams = z.strictObject({ coordinate: ImagePoint.optional() });
const DragToParams = z.strictObject({
  coordinate: ImagePoint,
  button: ACTION_SCHEMAS.mouse_down.shape.button,
  duration: z.number().min(0).max(300).optional(),
  modifiers: Modifiers,
});
const DragRelParams = DragToParams.omit({ coordinate: true }).extend({
  delta: z.tuple([z.number(), z.number()]).describe("[dx, dy] from where the pointer is."),
});
const KeypressParams = z.strictObject({
  keys: z.array(z.string().min(1).max(100)).min(1).max(8).describe("Held together, in their order."),
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

  @tool({
    description: "Move the pointer to a coordinate, or by a delta.",
    params: MoveParams,
    result: Done,
    annotations: ACTS,
  })
  mouseMove(params: Input<typeof MoveParams>, context: VmContext) {
    return perform({ action: "mouse_move", ...params }, context);
  }

  @tool({ description: "Press the left button and keep it down.", params: HeldParams, result: Done, annotations: ACTS })
  leftMouseDown({ coordinate }: Input<typeof HeldParams>, context: VmContext) {
    return perform({ action: "mouse_down", coordinate }, context);
  }

  @tool({ description: "Release the left button.", params: HeldParams, result: Done, annotations: ACTS })
  leftMouseUp({ coordinate }: Input<typeof HeldParams>, context: VmContext) {
    return perform({ action: "mouse_up", coordinate }, context);
  }

  @tool({ description: "Drag from where the pointer is.", params: DragToParams, result: Done, annotations: ACTS })
  dragTo({ coordinate, ...how }: Input<typeof DragToParams>, context: VmContext) {
    return perform({ action: "drag", path: [coordinate], from_pointer: true, ...how }, context);
  }

  @tool({
    description: "Drag so far from where the pointer is.",
    params: DragRelParams,
    result: Done,
    annotations: ACTS,
  })
  dragRel(params: Input<typeof DragRelParams>, context: VmContext) {
    return perform({ action: "drag", ...params }, context);
  }

  @tool({ description: "Press a key or a combination.", params: KeyParams, result: Done, annotations: ACTS })
  press({ key, repeat }: Input<typeof KeyParams>, context: VmContext) {
    return perform({ action: "key", keys: key, repeat }, context);
  }

  @tool({ description: "Press keys together.", params: KeypressParams, result: Done, annotations: ACTS })
  keypress({ keys }: Input<typeof KeypressParams>, context: VmContext) {
    return perform({ action: "key", keys }, context);
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
