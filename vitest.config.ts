import { defineConfig } from "vitest/config";

/**
 * Files that try the sources in their own process, and neither change nor count what a process holds: these share the workers'
 * processes, in which the sources are loaded once in place of once a file. A file that signals, spawns, measures the heap or
 * replaces modules does not belong here.
 */
const TOGETHER = ["config", "core", "docs", "egress", "engine", "llm", "log", "server", "store"].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);

export default defineConfig({
  test: {
    globalSetup: "test/fresh-build.ts",
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // One more than the cores of a small machine: much of the suite waits for containers, browsers and child processes.
    maxWorkers: 3,
    // What is waited for comes in its own time; only what never comes should fail.
    expect: { poll: { timeout: 30_000 } },
    projects: [
      { extends: true, test: { name: "together", include: TOGETHER, isolate: false } },
      {
        extends: true,
        test: {
          name: "alone",
          include: ["test/**/*.test.ts", "backends/**/*.test.ts"],
          exclude: ["node_modules/**", ...TOGETHER],
          typecheck: { enabled: true, include: ["test/**/*.test-d.ts"], tsconfig: "./tsconfig.json" },
        },
      },
    ],
  },
});
