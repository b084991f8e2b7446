/** Where a config came from, for errors that are found only when its backends are loaded. */
export interface Provenance {
  readonly file: string;
  readonly placeholders: ReadonlySet<string>;
}

const provenances = new WeakMap<object, Provenance>();

/** Remembers where a config came from, beside it and not in it, so that a config stays plain data. */
export function recordProvenance(config: object, provenance: Provenance): void {
  provenances.set(config, provenance);
}

/** Tells where a config came from; one that no file gave is called `config`. */
export function provenanceOf(config: object): Provenance {
  return provenances.get(config) ?? { file: "config", placeholders: new Set() };
}
