import type { ToolContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { DsConfig } from "./config.ts";
import type { DataFile } from "./data-file.ts";
import { SandboxCalls } from "./sandbox-calls.ts";
import { type FetchedFiles, fetchFromSandbox } from "./sandbox-files.ts";
import { SeedFolders } from "./seed-folders.ts";

const MIB = 1 << 20;

/** Which files a call is about. */
export interface WantedFiles {
  readonly seed_path?: string | null | undefined;
  readonly source: "seed" | "sandbox";
  /** All of the folder when absent. */
  readonly files?: readonly string[] | undefined;
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
   * Finds the files, fetching those of a sandbox.
   *
   * @throws ToolyardError `path_refused`, `path_not_found`, `limit_exceeded`, `missing_field`
   */
  async open(wanted: WantedFiles, context: ToolContext): Promise<FetchedFiles> {
    const { source, files } = wanted;
    const { max_fetch_mib: maxMiB, sandbox } = this.#config;
    if (source === "seed") return { files: await this.seeds(wanted), [Symbol.asyncDispose]: async () => undefined };
    if (files === undefined) throw new ToolyardError("missing_field", "say which files of the sandbox");
    return fetchFromSandbox(new SandboxCalls(sandbox, context), [...new Set(files)], maxMiB * MIB);
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
