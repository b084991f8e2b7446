// Keeps many new objects alive, as thousands of waiting requests do, and tells how large V8's space for new objects became.
import { setImmediate as nextTurn } from "node:timers/promises";
import { getHeapSpaceStatistics } from "node:v8";
import { boundYoungSpace } from "../../src/cli/young-space.ts";

const KEPT = 300_000;
const ROUNDS = 12;
const PER_ROUND = 100_000;
const MIB = 1_048_576;

if (process.argv[2] === "bounded") boundYoungSpace();
const kept: object[] = [];
let largest = 0;
for (let round = 0; round < ROUNDS; round += 1) {
  for (let index = 0; index < PER_ROUND; index += 1) {
    kept[(round * PER_ROUND + index) % KEPT] = { index, of: [round, index], name: `request ${index}` };
  }
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  largest = Math.max(largest, young?.space_size ?? 0);
  // oxlint-disable-next-line no-await-in-loop -- collections are told of between two turns
  await nextTurn();
}
console.log(largest / MIB);
