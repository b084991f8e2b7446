import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "backends/**/*.test.ts"],
    typecheck: { enabled: true, include: ["test/**/*.test-d.ts"], tsconfig: "./tsconfig.json" },
    globalSetup: "test/fresh-build.ts",
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    // What is waited for comes in its own time; only what never comes should fail.
    expect: { poll: { timeout: 15_000 } },
  },
});
