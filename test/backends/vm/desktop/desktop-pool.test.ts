import { describe, expect, it, onTestFinished } from "vitest";
import { DesktopPool } from "../../../../src/backends/vm/desktop/desktop-pool.ts";
import type { DesktopSpec, RunningDesktop } from "../../../../src/backends/vm/desktop/provider.ts";
import { ToolyardError } from "../../../../src/core/errors.ts";
import { openScripted } from "../scripted-display.ts";

const { signal } = new AbortController();
const usual: DesktopSpec = { width: 64, height: 48, dpi: 96, sandbox: { limits: { pids: 9 } } };
const owned = (spec = usual): DesktopSpec => ({ ...spec, sandbox: { ...spec.sandbox, sessionId: "s", workerId: "w" } });

/** A pool of desktops whose displays the test plays. */
function openPool({ min = 2, parallel = 2 } = {}) {
  const made: { name: number; stopped: boolean; die: () => void }[] = [];
  const failures: Error[] = [];
  const pool = new DesktopPool(
    async () => {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      const { connection, display } = await openScripted();
      const { promise: ended, resolve } = Promise.withResolvers<string>();
      const member = { name: made.length, stopped: false, die: () => (display.end(), resolve("it died")) };
      made.push(member);
      // Of a running desktop, a pool uses its end and its stop.
      const running = { ended, stop: async () => void (member.stopped = true) } as unknown as RunningDesktop;
      return { running, connection };
    },
    { min, parallel, usual },
  );
  onTestFinished(() => pool.close());
  const full = () => expect.poll(() => pool.report).toMatchObject({ ready: min, starting: 0 });
  return { pool, made, failures, full };
}

describe("a pool of desktops", () => {
  it("holds as many as it is told to, and fills the place of a claimed one", async () => {
    const { pool, made, full } = openPool();
    expect(pool.report).toMatchObject({ ready: 0, starting: 0, target: 0 });
    pool.fill();
    await full();
    expect(made).toHaveLength(2);
    expect(await pool.claim(owned(), signal)).toBeDefined();
    await full();
    expect(made).toHaveLength(3);
    expect(pool.report).toMatchObject({ claimed: 1, misses: 0, target: 2 });
  });

  it("gives none to whoever wants another kind, and none that is not ready", async () => {
    const { pool, full } = openPool();
    expect(await pool.claim(owned(), signal)).toBeUndefined();
    pool.fill();
    await full();
    for (const other of [
      { ...usual, width: 65 },
      { ...usual, dpi: 97 },
      { ...usual, sandbox: {} },
      { ...usual, sandbox: { ...usual.sandbox, image: "other" } },
      { ...usual, sandbox: { ...usual.sandbox, network: { allow: ["example.org"] } } },
      { ...usual, sandbox: { ...usual.sandbox, environment: { A: "1" } } },
    ]) {
      expect(await pool.claim(owned(other), signal)).toBeUndefined();
    }
    expect(pool.report).toMatchObject({ claimed: 0, misses: 1, ready: 2 });
  });

  it("gives each to one session only, also to those that come at once", async () => {
    const { pool, full } = openPool({ min: 3 });
    pool.fill();
    await full();
    const claimed = await Promise.all([1, 2, 3, 4].map(() => pool.claim(owned(), signal)));
    const given = claimed.filter((each) => each !== undefined);
    expect(new Set(given).size).toBe(given.length);
    expect(given.length).toBeGreaterThanOrEqual(3);
  });

  it("does not give one that died, and starts another in its place", async () => {
    const { pool, made, full } = openPool({ min: 1 });
    pool.fill();
    await full();
    made[0]?.die();
    await expect.poll(() => made.length).toBe(2);
    await full();
    expect(await pool.claim(owned(), signal)).toBeDefined();
  });

  it("says how often it fails, and ends what nobody claimed with itself", async () => {
    const { pool, made, failures, full } = openPool({ min: 2, parallel: 1 });
    failures.push(new ToolyardError("runtime_unavailable", "no image"));
    pool.fill();
    await expect.poll(() => pool.report.failures).toBe(1);
    await full();
    expect(pool.report.failures).toBe(0);
    await pool.close();
    expect(made.every(({ stopped }) => stopped)).toBe(true);
    expect(pool.report).toMatchObject({ ready: 0, starting: 0 });
  });
});
