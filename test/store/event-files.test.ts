import { mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { EventFiles } from "../../src/store/sqlite/event-files.ts";

it("leave nothing of a file whose first batch met a full disk, so that the next one is found under its own name", () => {
  const folder = mkdtempSync(join(tmpdir(), "toolyard-events-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const files = new EventFiles(folder);
  symlinkSync("/dev/full", join(folder, "5.log"));
  expect(() => files.append(5, Buffer.from("lost"))).toThrow(expect.objectContaining({ reason: "full" }));
  files.append(9, Buffer.from("kept"));
  files.close();
  expect(readdirSync(folder)).toEqual(["9.log"]);
  expect(files.read(9)).toEqual({ batches: [Buffer.from("kept")], lost: [] });
});
