/** A backend that comes with Toolyard. */
export interface BuiltInBackend {
  /** Imports the module, whose default export is the class; only a config that names it pays for it. */
  readonly load: () => Promise<unknown>;
  /** Whether it runs sandboxes; it cannot run in a worker thread then, since runtimes stay in the main one. */
  readonly needsRuntimes: boolean;
  /** Whether it runs in a worker thread when its config does not say. */
  readonly thread?: boolean;
}

/** The built-in backends by the name that a config gives them. */
export const BUILT_IN: Readonly<Record<string, BuiltInBackend>> = {
  browser: { load: () => import("../backends/browser/backend.ts"), needsRuntimes: true },
  vm: { load: () => import("../backends/vm/backend.ts"), needsRuntimes: true },
  code: { load: () => import("../backends/code/backend.ts"), needsRuntimes: true },
  ds: { load: () => import("../backends/ds/backend.ts"), needsRuntimes: false },
  text2sql: { load: () => import("../backends/text2sql/backend.ts"), needsRuntimes: false },
  // Ranking and indexing hold their thread.
  rag: { load: () => import("../backends/rag/backend.ts"), needsRuntimes: false, thread: true },
  // Reading a document or a page holds its thread, too.
  doc: { load: () => import("../backends/doc/backend.ts"), needsRuntimes: false, thread: true },
  web: { load: () => import("../backends/web/backend.ts"), needsRuntimes: false, thread: true },
};
