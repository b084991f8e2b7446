import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite/sqlite-store.ts";

const MODULE = join(import.meta.dirname, "../../src/store/sqlite/sqlite-store.ts");
/** In a process of its own: an open that never returns cannot be given up from inside. */
const OPEN = `import { openSqliteStore } from ${JSON.stringify(MODULE)};
await openSqliteStore(process.argv[1]).then(() => console.log("opened"), (error) => console.log(error.reason + ": " + error.message));`;

function temporaryFolder(): string {
  const root = mkdtempSync(join(tmpdir(), "toolyard-data-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

describe("the data folder", () => {
  it("is made with the folders above it, each for its owner alone", async () => {
    const root = temporaryFolder();
    const store = await openSqliteStore(join(root, "a/b/c"));
    await store.close();
    for (const made of ["a", "a/b", "a/b/c"]) expect(statSync(join(root, made)).mode & 0o777).toBe(0o700);
  });

  it("is refused below a file, in one line", async () => {
    const root = temporaryFolder();
    writeFileSync(join(root, "file"), "");
    const refused = await openSqliteStore(join(root, "file/data")).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      reason: "unavailable",
      message: expect.stringMatching(/^The data folder .*file.data cannot be used: .+$/),
    });
  });

  it.runIf(process.platform === "linux")(
    "is refused where the system makes no folders, and is not tried for ever",
    () => {
      for (const folder of ["/proc/nope", "/proc/nope/deeper/still"]) {
        const opened = spawnSync(process.execPath, ["--input-type=module", "-e", OPEN, folder], {
          encoding: "utf8",
          timeout: 100_000,
          killSignal: "SIGKILL",
        });
        expect([opened.signal, opened.stdout.trim()]).toEqual([
          null,
          expect.stringMatching(/^unavailable: The data folder \/proc\/nope.* cannot be used: ENOENT.+$/),
        ]);
      }
    },
  );
});
