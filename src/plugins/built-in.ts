/** A backend that comes with Toolyard. */
export interface BuiltInBackend {
  /** Imports the module, whose default export is the class; only a config that names it pays for it. */
  readonly load: () => Promise<unknown>;
  /** Whether it may run in a worker thread: one that needs runtimes may not, since they stay in the main thread. */
  readonly threadable: boolean;
}

/** The built-in backends by the name that a config gives them. */
export const BUILT_IN: Readonly<Record<string, BuiltInBackend>> = {
  code: { load: () => import("../backends/code/backend.ts"), threadable: false },
};
