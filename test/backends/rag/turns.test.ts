import { expect, it } from "vitest";
import { SearchTurns } from "../../../src/backends/rag/search/turns.ts";

/** Whether it has resolved by the time that everything that can go on at once has. */
async function isDone(promise: Promise<unknown>): Promise<boolean> {
  const pending = {};
  for (let turn = 0; turn < 20; turn++) {
    // oxlint-disable-next-line no-await-in-loop
    if ((await Promise.race([promise, Promise.resolve(pending)])) !== pending) return true;
    // oxlint-disable-next-line no-await-in-loop
    await new Promise((resolve) => setImmediate(resolve));
  }
  return false;
}

const NEVER_MS = 2_000_000_000;

it("has a batch wait for the searches that have begun, however many steps they take, and no longer", async () => {
  const turns = new SearchTurns();
  await turns.giveWay(NEVER_MS);
  const [first, second] = [turns.begin(), turns.begin()];
  const batch = turns.giveWay(NEVER_MS);
  expect(await isDone(batch)).toBe(false);
  first.end();
  // One that comes meanwhile is for the batch's next query to wait for.
  const third = turns.begin();
  expect(await isDone(batch)).toBe(false);
  second[Symbol.dispose]();
  expect(await isDone(batch)).toBe(true);
  const next = turns.giveWay(NEVER_MS);
  expect(await isDone(next)).toBe(false);
  third.end();
  third.end();
  expect(await isDone(next)).toBe(true);
});

it("has a batch go on after a while when a search is held up by the batch itself", async () => {
  const turns = new SearchTurns();
  using turn = turns.begin();
  await turns.giveWay(1);
  turn.end();
  await turns.giveWay(NEVER_MS);
});
