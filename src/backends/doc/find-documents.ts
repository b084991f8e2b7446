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
  choice: DocumentChoice,
): Promise<KeptDocument[]> {
  const names = namesOf(choice);
  if (names === undefined) return store.all(owner);
  return Promise.all(
    names.map(async (id) => {
      const found = await store.get(owner, id);
      if (found === undefined) throw unknownDocument(id);
      return found;
    }),
  );
}

/** The ids that a call names, each once; `undefined` where it means all. */
export function namesOf({ document, seed_path: seedPath }: DocumentChoice): readonly string[] | undefined {
  const names = new Set([...[document ?? []].flat(), ...(seedPath === undefined ? [] : [seedPath])]);
  return names.size === 0 ? undefined : [...names];
}

export function unknownDocument(id: string): ToolyardError {
  return new ToolyardError("unknown_name", `there is no document "${id}"`, {
    suggestion: "doc:list names those that there are; doc:ingest takes in another.",
  });
}
