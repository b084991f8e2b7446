import { type DuckDb, openDuckDb } from "../../../query/duckdb.ts";
import type { JobContext } from "../../../processes/job.ts";
import type { CollectedRows, RowLimits } from "../../../query/row-collector.ts";
import { quoteName } from "../../../query/sql/quote.ts";
import type { DataFile } from "../data-file.ts";
import { namedIn } from "../named-in-query.ts";
import { type FileProfile, profileRelation } from "./profile.ts";
import { makeRelations, type Relations } from "./relations.ts";

// What runs in the processes of the pool: everything here may hold its thread.

const THREADS = 2;
/** What the process needs beside what DuckDB counts. */
const OWN_MIB = 192;

interface OnFiles {
  readonly files: readonly DataFile[];
  readonly memoryMiB: number;
}

export type InspectJob = OnFiles;

export interface PreviewJob extends OnFiles {
  readonly sheet?: string | undefined;
  readonly offset: number;
  readonly rows: RowLimits;
}

export interface QueryJob extends OnFiles {
  readonly query: string;
  readonly rows: RowLimits;
}

/** What {@link PreviewJob} answers. */
export interface FoundPreview extends CollectedRows {
  readonly total_rows: number;
  readonly note: string | null;
}

/** What {@link InspectJob} answers; the rest of the files is missing when its time was over. */
export type FoundProfiles = readonly FileProfile[];

export const jobs = {
  async inspect({ files, memoryMiB }: InspectJob, context: JobContext): Promise<FoundProfiles> {
    const profiles: FileProfile[] = [];
    for (const file of files) {
      // One after the other, each in a database of its own: a file that cannot be read costs no other.
      // oxlint-disable-next-line no-await-in-loop
      profiles.push(...(await inspect(file, memoryMiB, context)));
      context.partial(profiles);
      if (context.signal.aborted) break;
    }
    return profiles;
  },
  preview: (job: PreviewJob, context: JobContext): Promise<FoundPreview> =>
    withRelations(job, context, async (database, { relations }) => {
      const wanted = job.sheet ?? relations[0]?.sheet ?? null;
      const relation = relations.find(({ sheet }) => sheet === wanted) ?? relations[0];
      const name = quoteName(relation?.names.at(-1) ?? "");
      const [count] = await database.all(`SELECT count(*) FROM ${name}`);
      // The rows of a file have an order, that of the file.
      const rows = await database.readRows(`SELECT * FROM ${name} OFFSET ${job.offset}`, job.rows);
      return { ...rows, total_rows: Number(count?.[0] ?? 0), note: relation?.note ?? null };
    }),
  query: ({ files, query, ...job }: QueryJob, context: JobContext): Promise<CollectedRows> => {
    const isNamed = namedIn(query);
    const named = files.filter(({ name }) => isNamed(name));
    return withRelations({ ...job, files: named }, context, (database) => database.readRows(query, job.rows));
  },
};

async function inspect(file: DataFile, memoryMiB: number, context: JobContext): Promise<readonly FileProfile[]> {
  const base = { file: file.name, format: file.format, size_bytes: file.sizeBytes, sheet: null };
  const failed = (error: string): FileProfile => ({ ...base, error });
  try {
    return await withRelations(
      { files: [file], memoryMiB },
      context,
      async (database, { relations, failed: refused }) => {
        const profiles: FileProfile[] = refused.map(({ message }) => failed(message));
        for (const relation of relations) {
          // oxlint-disable-next-line no-await-in-loop
          profiles.push(await profileRelation(database, relation));
        }
        return profiles;
      },
      true,
    );
  } catch (error) {
    return [failed(error instanceof Error ? error.message : String(error))];
  }
}

async function withRelations<T>(
  { files, memoryMiB }: OnFiles,
  { signal }: JobContext,
  work: (database: DuckDb, relations: Relations) => Promise<T>,
  tolerant = false,
): Promise<T> {
  let relations: Relations | undefined;
  const options = { memoryMiB: Math.max(64, memoryMiB - OWN_MIB), threads: THREADS };
  try {
    using database = await openDuckDb(
      {
        ...options,
        prepare: async (connection) => {
          relations = await makeRelations(connection, files, { tolerant });
        },
      },
      signal,
    );
    return await work(database, relations ?? { relations: [], failed: [], [Symbol.dispose]: () => undefined });
  } finally {
    relations?.[Symbol.dispose]();
  }
}
