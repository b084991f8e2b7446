import type Docker from "dockerode";
import { IMAGE_LABELS } from "./build.ts";
import { findImage } from "./engine.ts";
import { type ImageRecipe, repositoryOf } from "./recipe.ts";

/** One of our images, as `images list` and `doctor` show it. */
export interface ImageEntry {
  readonly name: string;
  readonly reference: string;
  /** `outdated`: built from other files than this package has. */
  readonly state: "built" | "outdated" | "missing";
  readonly version: string | null;
  readonly base: string | null;
  readonly size_bytes: number | null;
  /** ISO 8601. */
  readonly built_at: string | null;
}

/** Compares what the engine has with what the recipes would build. */
export async function inspectImages(engine: Docker, recipes: readonly ImageRecipe[]): Promise<readonly ImageEntry[]> {
  return Promise.all(
    recipes.map(async (recipe) => {
      const { name } = recipe;
      const reference = `${repositoryOf(name)}:latest`;
      const image = await findImage(engine, reference);
      if (image === null) {
        return {
          name,
          reference,
          state: "missing",
          version: null,
          base: null,
          size_bytes: null,
          built_at: null,
        } as const;
      }
      const { labels, sizeBytes, createdAt } = image;
      const version = labels[IMAGE_LABELS.version] ?? null;
      const packages = (labels[IMAGE_LABELS.packages] ?? "").split(" ").filter((text) => text !== "");
      return {
        name,
        reference,
        state: version === recipe.version(packages) ? "built" : "outdated",
        version,
        base: labels[IMAGE_LABELS.base] ?? null,
        size_bytes: sizeBytes,
        built_at: createdAt.toISOString(),
      } as const;
    }),
  );
}
