import { RagConfig } from "../../backends/rag/config.ts";
import { Embedder } from "../../backends/rag/dense/embedder.ts";
import { CommandError, type Terminal } from "../command.ts";
import { loadNamedConfig } from "../config-flag.ts";

/**
 * Makes what embeds as a config file's `rag` says; `undefined` where no file is named.
 *
 * @throws ConfigError; CommandError where the file names no embeddings endpoint
 */
export async function configEmbedder(path: string | undefined, terminal: Terminal): Promise<Embedder | undefined> {
  if (path === undefined) return undefined;
  const { config } = await loadNamedConfig(path, terminal);
  const entry = config.resources["rag"] ?? Object.values(config.resources).find(({ backend }) => backend === "rag");
  const embeddings = RagConfig.safeParse(entry?.config ?? {}).data?.embeddings;
  if (embeddings === undefined) throw new CommandError(`${path} has no rag resource with embeddings`);
  return new Embedder(embeddings);
}
