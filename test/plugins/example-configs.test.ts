import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { createLogger } from "../../src/log/logger.ts";
import { loadBackends } from "../../src/plugins/load-backends.ts";
import { needsRuntimes, openRuntimes } from "../../src/plugins/open-runtimes.ts";

const folder = fileURLToPath(new URL("../../configs", import.meta.url));
const logger = createLogger({ level: "silent" });

describe("configs/", () => {
  it.each(globSync("*.json", { cwd: folder }))("%s loads, with every backend that it names", async (file) => {
    const { config, dir } = await loadConfig(`${folder}/${file}`, { TOOLYARD_SMALL: "true" });
    const runtimes = openRuntimes(config);
    const mounted = await loadBackends(config, { configDir: dir, runtimes, logger });
    expect(mounted.map(({ resource }) => resource)).toEqual(Object.keys(config.resources));
    expect(needsRuntimes(config)).toBe(!["fixtures.json", "web.json", "doc.json"].includes(file));
    await runtimes.close();
  });
});
