import { z } from "zod";
import { type Input, tool } from "../../core/tool.ts";
import { abilityOf } from "./desktop/desktop-ability.ts";
import type { VmContext } from "./session.ts";

const Name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, { error: "a snapshot's name has letters, digits, dots and dashes" })
  .default("default");
const Named = z.strictObject({ name: Name });
const Snapshots = z.object({
  snapshots: z.array(z.string()),
  keeps: z.enum(["files", "everything"]).describe("What is in one: files alone, or memory, too."),
});
const Restored = z.object({ restored: z.string(), resolution: z.string() });

/** Moments of a desktop to come back to. */
export class SnapshotTools {
  @tool({
    description:
      "Keep the desktop as it is now, to be brought back to later; its files alone in a sandbox, all of a virtual machine.",
    params: Named,
    result: Snapshots,
    annotations: { title: "Keep a snapshot", idempotentHint: true },
  })
  async snapshot({ name }: Input<typeof Named>, context: VmContext) {
    const snapshots = abilityOf(context.session.data.desktop.running, "snapshots");
    await snapshots.save(name, context.signal);
    return { snapshots: [...snapshots.names], keeps: snapshots.keeps };
  }

  @tool({
    description: "Bring the desktop back to a snapshot; programs are gone where it keeps files alone.",
    params: Named,
    result: Restored,
    annotations: { title: "Go back to a snapshot", destructiveHint: true, idempotentHint: true },
  })
  async restore({ name }: Input<typeof Named>, context: VmContext) {
    const { desktop } = context.session.data;
    await desktop.restore(name, context.signal);
    const { width, height } = desktop.operator.driver.size;
    return { restored: name, resolution: `${width}x${height}` };
  }

  @tool({
    description: "List the desktop's snapshots.",
    result: Snapshots,
    annotations: { title: "List snapshots", readOnlyHint: true, idempotentHint: true },
  })
  snapshots(_params: object, context: VmContext) {
    const snapshots = abilityOf(context.session.data.desktop.running, "snapshots");
    return { snapshots: [...snapshots.names], keeps: snapshots.keeps };
  }
}
