import type Docker from "dockerode";
import { CommandError } from "../command.ts";
import { bootstrapBase, LOCAL_BASE, type MakingOptions, whyNoBootstrap } from "./bootstrap.ts";
import { findImage, reasonOf } from "./engine.ts";
import { readEngineEvents } from "./progress.ts";

/** What the images are built on where a registry answers. */
export const PUBLIC_BASE = "debian:bookworm-slim";

/** Which base was asked for; by default the public one, or a local one where no registry has it. */
export interface BaseChoice {
  readonly image?: string | undefined;
  readonly bootstrap?: boolean | undefined;
}

/**
 * Sees to it that the engine has the base, and answers its name.
 *
 * @throws CommandError that says why there is none, and what to do
 */
export async function provideBase(engine: Docker, choice: BaseChoice, options: MakingOptions): Promise<string> {
  if (choice.bootstrap === true) return bootstrapBase(engine, options);
  const wanted = withTag(choice.image ?? PUBLIC_BASE);
  const present = await findImage(engine, wanted);
  if (present !== null && !options.force) return wanted;
  // Nothing of ours is in any registry: such a name there could be anybody's.
  const refusal = wanted.startsWith("toolyard/") ? "it is not built yet" : await pull(engine, wanted, options);
  if (refusal === null || present !== null) return wanted;
  if (choice.image !== undefined) {
    throw new CommandError(`no base image: the engine has no ${wanted}, and cannot pull it: ${refusal}`);
  }
  options.reporter.step(`${wanted} cannot be pulled (${refusal})`);
  const problem = whyNoBootstrap();
  if (problem !== null && (await findImage(engine, LOCAL_BASE)) === null) {
    throw new CommandError(
      `no base image: ${wanted} cannot be pulled, and ${problem}; connect the engine to a registry, or name an image of yours with --base`,
    );
  }
  return bootstrapBase(engine, options);
}

/** Answers why it could not be had, or `null`. */
async function pull(engine: Docker, image: string, { reporter, signal }: MakingOptions): Promise<string | null> {
  reporter.step(`pulling ${image}`);
  try {
    for await (const event of readEngineEvents(await engine.pull(image, { abortSignal: signal }))) {
      if (event.kind === "failure") return event.message;
      if (event.kind === "output") reporter.output(event.text);
    }
    return null;
  } catch (error) {
    signal.throwIfAborted();
    return reasonOf(error);
  }
}

/** Without a tag, the engine would pull every one. */
function withTag(image: string): string {
  return /[:@][^/]*$/.test(image) ? image : `${image}:latest`;
}
