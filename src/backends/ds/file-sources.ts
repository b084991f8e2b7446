import type { ToolContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { DsConfig } from "./config.ts";
import type { DataFile } from "./data-file.ts";
import { SandboxCalls } from "./sandbox-calls.ts";
import { type FetchedFiles, fetchFitting, fetchFromSandbox, listInSandbox } from "./sandbox-files.ts";
import { SeedFolders } from "./seed-folders.ts";

const MIB = 1 << 20;

/** Which files a call is about. */
export interface WantedFiles {
  readonly seed_path?: string | null | undefined;
  /** The configured folders where there are any or one is named, else the sandbox, when absent. */
  readonly source?: "seed" | "sandbox" | undefined;
  /** All of the folder when absent. */
  readonly files?: readonly string[] | undefined;
}

/** Files that may be looked into, which those of a sandbox may only while this is not disposed of. */
export interface OpenFiles extends FetchedFiles {
  readonly source: "seed" | "sandbox";
}

/** Where data comes from: the configured folders, and the sandbox of the worker that calls. */
export class FileSources {
  readonly #config: DsConfig;
  readonly #folders: SeedFolders;

  constructor(config: DsConfig) {
    this.#config = config;
    this.#folders = new SeedFolders(config.folders);
  }

  /**
   * Finds the files, fetching those of a sandbox: without names as many as one call may describe.
   *
   * @param means which of the files that are there a call is about when it names none; all of them when absent.
   * @throws ToolyardError `path_refused`, `path_not_found`, `limit_exceeded`
   */
  async open(wanted: WantedFiles, context: ToolContext, means?: (name: string) => boolean): Promise<OpenFiles> {
    const source = this.sourceOf(wanted);
    if (source === "seed") {
      const files = await this.seeds(wanted);
      return { source, files, notFetched: [], [Symbol.asyncDispose]: async () => undefined };
    }
    const { max_fetch_mib: maxMiB, ds_max_csv: maxFiles } = this.#config;
    const sandbox = new SandboxCalls(this.#config.sandbox, context);
    const maxBytes = maxMiB * MIB;
    if (wanted.files !== undefined) {
      return { source, ...(await fetchFromSandbox(sandbox, [...new Set(wanted.files)], maxBytes)) };
    }
    const found = await listInSandbox(sandbox);
    if (means === undefined) return { source, ...(await fetchFitting(sandbox, found, { maxFiles, maxBytes })) };
    const names = found.map(({ name }) => name).filter(means);
    return { source, ...(await fetchFromSandbox(sandbox, names, maxBytes)) };
  }

  /** Where the files of a call lie. */
  sourceOf({ source, seed_path: seedPath }: WantedFiles): "seed" | "sandbox" {
    return source ?? (this.#config.folders.length > 0 || typeof seedPath === "string" ? "seed" : "sandbox");
  }

  /** Finds files of the configured folders. */
  async seeds({ seed_path, files }: WantedFiles): Promise<readonly DataFile[]> {
    const folder = await this.#folders.open(seed_path ?? undefined);
    if (files === undefined) return this.#folders.list(folder);
    const found = await Promise.all([...new Set(files)].map((name) => this.#folders.find(folder, name)));
    const max = this.#config.max_file_mib;
    const large = found.find(({ sizeBytes }) => sizeBytes > max * MIB);
    if (large === undefined) return found;
    throw new ToolyardError("limit_exceeded", `${large.name} is larger than ${max} MiB`, {
      details: { limit: "max_file_mib", max },
    });
  }
}
