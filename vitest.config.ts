import { defineConfig } from "vitest/config";

/**
 * Files that try the sources in their own process, and neither change nor count what a process holds: these share the workers'
 * processes, in which the sources are loaded once in place of once a file, which takes half of their time. A file that signals,
 * spawns, measures the heap or replaces modules does not belong here.
 */
const TOGETHER = [
  "{config,core,docs,documents,egress,engine,llm,log,query,server,store}/**/*",
  "adversarial/{exactly-once,http-edge,json-abuse,keys-and-edges,known-defects-*,misbehaving-plugins,overload,slow-clients}",
  "backends/code/{adoption,backend,edit-text,program-error,read-file,snapshot-store,tool-names,turns}",
  "backends/rag/{backend,byte-vectors,dense,frequency-cache,index,metrics,read,rerank}",
  "backends/text2sql/compare",
  "backends/vm/{actions,adapters,keys,rfb,us-keyboard,view}",
  "backends/vm/desktop-agent/{desktop-agent,line-splitter,tree-xml}",
  "backends/vm/{episode/{episode,foreign-setup,evaluation/*},recording/{action-recorder,recording-store}}",
  "backends/vm/{desktop/desktop-pool,qemu/{guest-agent,json-lines,qmp-client}}",
  "backends/web/{fetch,parsers,result-cache,search,ssrf}",
  "cli/{images/{progress,recipe},known-vulnerabilities,rag/read-files}",
  "client/{format,heartbeat,http-client,lost-answers,server-operations,session-files,sse-parser,streams}",
  "runtimes/{fake,overdue-watch,pool,selector,start-gate}",
].map((files) => `test/${files}.test.ts`);

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
