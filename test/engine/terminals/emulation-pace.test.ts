import { expect, it } from "vitest";
import { EmulationPace } from "../../../src/engine/terminals/emulation-pace.ts";
import { ManualClock } from "../../kit/manual-clock.ts";

it("lets small output through at once, and floods of all terminals together at one pace", async () => {
  const clock = new ManualClock();
  const pace = new EmulationPace(clock);
  let shown = 0;
  const flood = async () => {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- a stretch after the other
      await pace.turn(13_000);
      shown += 13_000;
      if (shown > 10_000_000) return;
    }
  };
  void flood();
  void flood();
  await clock.advance(1_000);
  expect(shown).toBeGreaterThan(1_250_000);
  expect(shown).toBeLessThan(1_350_000);
  let typed = false;
  void pace.turn(100).then(() => (typed = true));
  await clock.advance(0);
  expect(typed).toBe(true);
});
