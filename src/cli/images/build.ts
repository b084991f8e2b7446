import type Docker from "dockerode";
import { CommandError } from "../command.ts";
import { type BaseChoice, provideBase } from "./base.ts";
import { LOCAL_BASE, type MakingOptions } from "./bootstrap.ts";
import { findImage, type PresentImage, reasonOf } from "./engine.ts";
import { readEngineEvents } from "./progress.ts";
import { type ImageRecipe, repositoryOf } from "./recipe.ts";
import { formatMegabytes, formatSeconds } from "./reporter.ts";

/** What an image of ours says of itself. Containers inherit these, so they differ from the labels of containers. */
export const IMAGE_LABELS = {
  name: "toolyard.image",
  version: "toolyard.image.version",
  base: "toolyard.image.base",
  packages: "toolyard.image.packages",
} as const;

/** How an image is to be built. */
export interface BuildRequest {
  readonly base: BaseChoice;
  /** Debian packages beside the recipe's own. */
  readonly packages: readonly string[];
}

/** What a build came to. */
export interface BuiltImage {
  readonly name: string;
  readonly reference: string;
  readonly version: string;
  readonly base: string;
  /** It was there already, built from the same. */
  readonly unchanged: boolean;
  readonly sizeBytes: number;
  readonly durationMs: number;
}

/**
 * Builds an image and tags it with its version and as the latest; does nothing when that is there already.
 *
 * @throws CommandError with the end of what the failing step printed
 */
export async function buildImage(
  engine: Docker,
  recipe: ImageRecipe,
  request: BuildRequest,
  options: MakingOptions,
): Promise<BuiltImage> {
  const { reporter, force } = options;
  const { name } = recipe;
  const version = recipe.version(request.packages);
  const reference = `${repositoryOf(name)}:latest`;
  const present = await findImage(engine, reference);
  if (!force && present !== null && isBuiltFrom(present, version, request.base)) {
    const { sizeBytes, labels } = present;
    reporter.step(`${reference} is up to date (version ${version}, ${formatMegabytes(sizeBytes)})`);
    const base = labels[IMAGE_LABELS.base] ?? "";
    return { name, reference, version, base, unchanged: true, sizeBytes, durationMs: reporter.elapsedMs };
  }
  const base = await provideBase(engine, request.base, options);
  await runBuild(engine, recipe, { base, version, packages: request.packages }, options);
  const image = engine.getImage(`${repositoryOf(name)}:${version}`);
  await image.tag({ repo: repositoryOf(name), tag: "latest" });
  const { sizeBytes = 0 } = (await findImage(engine, reference)) ?? {};
  const durationMs = reporter.elapsedMs;
  reporter.step(
    `built ${reference} (version ${version}, ${formatMegabytes(sizeBytes)}) in ${formatSeconds(durationMs)}`,
  );
  return { name, reference, version, base, unchanged: false, sizeBytes, durationMs };
}

/** Whether an image is what a build would make, as far as its labels tell. */
export function isBuiltFrom({ labels }: PresentImage, version: string, base: BaseChoice): boolean {
  if (labels[IMAGE_LABELS.version] !== version) return false;
  const wanted = base.bootstrap === true ? LOCAL_BASE : base.image;
  const actual = labels[IMAGE_LABELS.base];
  return wanted === undefined || wanted === actual || `${wanted}:latest` === actual;
}

async function runBuild(
  engine: Docker,
  { name, folder, files }: ImageRecipe,
  built: { readonly base: string; readonly version: string; readonly packages: readonly string[] },
  { reporter, signal, force }: MakingOptions,
): Promise<void> {
  const { base, version, packages } = built;
  reporter.step(`building ${repositoryOf(name)}:${version} on ${base}`);
  let finished = false;
  try {
    const answer = await engine.buildImage(
      { context: folder, src: [...files] },
      {
        t: `${repositoryOf(name)}:${version}`,
        buildargs: { BASE: base, ...(packages.length > 0 && { PACKAGES: packages.join(" ") }) },
        labels: {
          [IMAGE_LABELS.name]: name,
          [IMAGE_LABELS.version]: version,
          [IMAGE_LABELS.base]: base,
          ...(packages.length > 0 && { [IMAGE_LABELS.packages]: packages.join(" ") }),
        },
        // The classic builder, which every engine has; it leaves no container of a failed step.
        version: "1",
        rm: true,
        forcerm: true,
        nocache: force,
        abortSignal: signal,
      },
    );
    for await (const event of readEngineEvents(answer)) {
      if (event.kind === "step") reporter.step(`step ${event.index}/${event.total}: ${event.instruction}`);
      else if (event.kind === "output") reporter.output(event.text);
      else if (event.kind === "image") finished = true;
      else throw new CommandError(event.message);
    }
  } catch (error) {
    signal.throwIfAborted();
    reporter.showTail();
    throw new CommandError(`${name} was not built: ${reasonOf(error)}`, { cause: error });
  }
  signal.throwIfAborted();
  // An engine that is stopped ends its answer in the middle, as if that were all.
  if (!finished) throw new CommandError(`${name} was not built: the engine broke off; see its log, and build again`);
}
