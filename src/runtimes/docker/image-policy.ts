import { ToolyardError } from "../../core/errors.ts";

/** The image of sandboxes whose session names none. */
export const DEFAULT_IMAGE = "toolyard/code-slim";

const REFERENCE =
  /^[a-z0-9][a-z0-9._-]*(:[0-9]+)?(\/[a-z0-9._-]+)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$/;
const MAX_LENGTH = 512;

/** Says which images sessions may choose: the default one, our own, and those that a pattern of the config matches. */
export class ImagePolicy {
  readonly defaultImage: string;
  readonly #patterns: readonly string[];

  constructor(options: { readonly image?: string; readonly images?: readonly string[] } = {}) {
    this.defaultImage = options.image ?? DEFAULT_IMAGE;
    this.#patterns = options.images ?? [];
  }

  /**
   * The full name of the image that a session gets.
   *
   * @throws ToolyardError `invalid_input` for what is no image's name, `forbidden` for one that the config does not allow.
   */
  choose(wanted: string | undefined): string {
    if (wanted === undefined) return withTag(this.defaultImage);
    if (wanted.length > MAX_LENGTH || !REFERENCE.test(wanted)) {
      throw new ToolyardError("invalid_input", "the image's name is none that an engine knows");
    }
    const full = withTag(wanted);
    if (full === withTag(this.defaultImage) || isOwn(full)) return full;
    if (this.#patterns.some((pattern) => matches(pattern, full))) return full;
    throw new ToolyardError("forbidden", `the image ${wanted} is not among those that sessions may choose`, {
      suggestion: "Choose another, or add a pattern for it to runtimes.docker.images in the server's config.",
    });
  }
}

/** Whether `toolyard images build` makes it; such a name is never asked of a registry, where it could be anybody's. */
export function isOwn(image: string): boolean {
  return image.startsWith("toolyard/");
}

/** How an image that is missing is had. */
export function toImageRemedy(image: string): string {
  const name = /^toolyard\/([a-z0-9-]+):latest$/.exec(image)?.[1];
  return name === undefined ? `docker pull ${image}` : `toolyard images build ${name}`;
}

/** `*` stands for any characters; a pattern that names no tag allows all of them. */
function matches(pattern: string, image: string): boolean {
  const source = pattern
    .split("*")
    .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
    .join(".*");
  return new RegExp(`^${source}${hasTag(pattern) ? "" : "([:@].*)?"}$`).test(image);
}

const hasTag = (name: string): boolean => /[:@][^/]*$/.test(name);
const withTag = (name: string): string => (hasTag(name) ? name : `${name}:latest`);
