/** What `initialize` made for one worker on one resource, as tools and lifecycle hooks see it. */
export interface Session<D = unknown> {
  /** Unguessable and unique for ever: the name and 128 random bits. */
  readonly id: string;
  /** Readable: `{resource}_{worker}_{NNN}[_{custom}]`. */
  readonly name: string;
  readonly workerId: string;
  readonly tenant: string;
  /** The resource that it belongs to, as mounted in the config. */
  readonly resource: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** What `initialize` returned; `undefined` in a `cleanup` after an `initialize` that failed. */
  readonly data: D;
}
