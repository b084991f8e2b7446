import type { CollectionIndex } from "../index/collection-index.ts";
import type { IndexReader } from "../index/reader.ts";
import type { DenseIndex } from "../dense/dense-index.ts";
import type { SemanticIndex } from "../lsa/semantic-index.ts";
import type { SearchPart } from "../ranking/bm25.ts";
import type { Owner, Shelf } from "../shelf/shelf.ts";

/** A collection as a worker sees it: its own documents over the shared ones. */
export interface Source {
  readonly name: string;
  readonly shared: CollectionIndex | undefined;
  readonly own: CollectionIndex | undefined;
}

/** A part of a search, with the collection it belongs to. */
export interface SourcePart extends SearchPart {
  readonly collection: string;
  readonly shared: boolean;
  readonly semantic: SemanticIndex;
  readonly dense: DenseIndex;
}

/** Works with the collections of these names that there are, held open meanwhile. */
export async function withSources<T>(
  shelf: Shelf,
  owner: Owner,
  names: readonly string[],
  work: (sources: readonly Source[]) => T | Promise<T>,
): Promise<T> {
  const paths = await Promise.all(
    names.map(async (name) => ({
      name,
      shared: await shelf.sharedPath(name),
      own: await shelf.ownPath(owner, name),
    })),
  );
  const sources: Source[] = [];
  const open = async (at: number): Promise<T> => {
    const path = paths[at];
    if (path === undefined) return work(sources);
    return maybeUse(shelf, path.shared, (shared) =>
      maybeUse(shelf, path.own, (own) => {
        if (shared !== undefined || own !== undefined) sources.push({ name: path.name, shared, own });
        return open(at + 1);
      }),
    );
  };
  return open(0);
}

async function maybeUse<T>(
  shelf: Shelf,
  path: string,
  work: (index: CollectionIndex | undefined) => Promise<T>,
): Promise<T> {
  let result: { readonly value: T } | undefined;
  const used = await shelf.use(path, async (index) => {
    result = { value: await work(index) };
    return result;
  });
  return used === undefined ? work(undefined) : used.value;
}

/** Runs `work`, which must be synchronous, on one state of every file. */
export function readSources<T>(sources: readonly Source[], work: (parts: readonly SourcePart[]) => T): T {
  const readers = sources.flatMap(({ shared, own }) => [shared?.reader ?? [], own?.reader ?? []].flat());
  const enter = (at: number): T => {
    const reader = readers[at];
    return reader === undefined ? work(sources.flatMap(partsOf)) : reader.read(() => enter(at + 1));
  };
  return enter(0);
}

/** Whether a worker's own documents, or its wish, keep a shared one from being seen. */
export function isHidden(own: IndexReader | undefined, id: string): boolean {
  return own !== undefined && (own.document(id) !== undefined || own.hidden().includes(id));
}

function partsOf({ name, shared, own }: Source): SourcePart[] {
  const parts: SourcePart[] = [];
  if (shared !== undefined) {
    const { reader, semantic, dense } = shared;
    const snapshot = reader.snapshot();
    const views =
      own === undefined
        ? snapshot.segments
        : reader.segmentsWithout(snapshot, () => hiddenIds(own.reader), `${own.path} ${own.reader.generation}`);
    for (const view of views) parts.push({ collection: name, shared: true, reader, semantic, dense, view });
  }
  if (own !== undefined) {
    const { reader, semantic, dense } = own;
    for (const view of reader.snapshot().segments)
      parts.push({ collection: name, shared: false, reader, semantic, dense, view });
  }
  return parts;
}

/** What lies over a shared collection: documents of the same id, and those that the worker deleted. */
function hiddenIds(reader: IndexReader): string[] {
  const ids = reader.hidden();
  for (let after = ""; ; ) {
    const page = reader.list(after, 1_000);
    ids.push(...page.map(({ id }) => id));
    const last = page.at(-1);
    if (last === undefined || page.length < 1_000) return ids;
    after = last.id;
  }
}
