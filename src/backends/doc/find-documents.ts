import { ToolyardError } from "../../core/errors.ts";
import type { DocumentStore, KeptDocument, Owner } from "./document-store.ts";

/** Which documents a call means. */
export interface DocumentChoice {
  readonly document?: string | string[] | undefined;
  readonly seed_path?: string | undefined;
}

/** The documents that a call means: those it names, else all that its worker has. @throws ToolyardError `unknown_name` */
export async function findDocuments(
  store: DocumentStore,
  owner: Owner,
  { document, seed_path: seedPath }: DocumentChoice,
): Promise<KeptDocument[]> {
  const names = [...[document ?? []].flat(), ...(seedPath === undefined ? [] : [seedPath])];
  if (names.length === 0) return store.list(owner);
  return Promise.all(
    [...new Set(names)].map(async (id) => {
      const found = await store.get(owner, id);
      if (found !== undefined) return found;
      throw new ToolyardError("unknown_name", `there is no document "${id}"`, {
        suggestion: "doc:list names those that there are; doc:ingest takes in another.",
      });
    }),
  );
}
