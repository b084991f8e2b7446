import { type DocumentParts, type ReadPartsOptions, readParts } from "./read-parts.ts";

// What runs in the processes of the pool: everything here may hold its thread and its memory.

export const jobs = {
  read: (options: ReadPartsOptions): Promise<DocumentParts> => readParts(options),
};
