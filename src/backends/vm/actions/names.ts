import { z } from "zod";

/** What an element is called by, from when it was told of until it is gone. */
export const Ref = z
  .string()
  .regex(/^e\d{1,9}$/, "a reference looks like e17")
  .describe("As accessibility_tree and find_element tell it.");

export const WindowId = z.int().min(1).max(0xff_ff_ff_ff).describe("As list_windows tells it.");
