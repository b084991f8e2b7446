import { ToolyardError } from "../../../core/errors.ts";
import { type DuckDb, openDuckDb } from "../../../query/duckdb.ts";
import type { JobContext } from "../../../processes/job.ts";
import type { CollectedRows, RowLimits } from "../../../query/row-collector.ts";
import { quoteName } from "../../../query/sql/quote.ts";
import type { DataFile } from "../data-file.ts";
import { namedIn } from "../named-in-query.ts";
import { type FileProfile, profileRelation } from "./profile.ts";
import { explain, makeRelations, type Relation, type Relations } from "./relations.ts";

// What runs in the processes of the pool: everything here may hold its thread.

const THREADS = 2;
/** What the process needs beside what DuckDB counts. */
const OWN_MIB = 192;

interface OnFiles {
  readonly files: readonly DataFile[];
  readonly memoryMiB: number;
}

export interface InspectJob {
  readonly file: DataFile;
  readonly memoryMiB: number;
}

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

/** What {@link InspectJob} answers: of the file, or of the sheets that its time was enough for. */
export type FoundProfiles = readonly FileProfile[];

export const jobs = {
  async inspect({ file, memoryMiB }: InspectJob, context: JobContext): Promise<FoundProfiles> {
    return withRelations({ files: [file], memoryMiB }, context, async (database, { relations }) => {
      const profiles: FileProfile[] = [];
      for (const relation of relations) {
        try {
          // oxlint-disable-next-line no-await-in-loop
          profiles.push(await profileRelation(database, relation));
        } catch (error) {
          context.signal.throwIfAborted();
          throw explain(error, file);
        }
        context.partial(profiles);
      }
      return profiles;
    });
  },
  preview: (job: PreviewJob, context: JobContext): Promise<FoundPreview> =>
    withRelations(job, context, async (database, { relations }) => {
      const relation = findSheet(relations, job.sheet);
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

function findSheet(relations: Relations["relations"], wanted: string | undefined): Relation | undefined {
  if (wanted === undefined) return relations[0];
  const found = relations.find(({ sheet }) => sheet === wanted);
  if (found !== undefined) return found;
  const [first] = relations;
  const sheets = relations.flatMap(({ sheet }) => sheet ?? []);
  const message =
    sheets.length === 0 ? `${first?.file.name} has no sheets` : `${first?.file.name} has no sheet ${wanted}`;
  throw new ToolyardError("invalid_input", message, {
    details: { sheets },
    ...(sheets.length > 0 && { suggestion: `Its sheets are ${sheets.join(", ")}.` }),
  });
}

async function withRelations<T>(
  { files, memoryMiB }: OnFiles,
  { signal }: JobContext,
  work: (database: DuckDb, relations: Relations) => Promise<T>,
): Promise<T> {
  let relations: Relations | undefined;
  const options = { memoryMiB: Math.max(64, memoryMiB - OWN_MIB), threads: THREADS };
  try {
    using database = await openDuckDb(
      {
        ...options,
        prepare: async (connection) => {
          relations = await makeRelations(connection, files);
        },
      },
      signal,
    );
    return await work(database, relations ?? { relations: [], [Symbol.dispose]: () => undefined });
  } finally {
    relations?.[Symbol.dispose]();
  }
}
