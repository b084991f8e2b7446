import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { describeStore } from "../kit/store-conformance.ts";

const root = mkdtempSync(join(tmpdir(), "toolyard-store-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let count = 0;
describeStore("sqlite", () => openStore({ driver: "sqlite", dataDir: join(root, String((count += 1))) }));
