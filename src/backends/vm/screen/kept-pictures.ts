import { randomUUID } from "node:crypto";
import type { EncodedPicture } from "./picture.ts";

const MAX_PICTURES = 16;

/** The latest screenshots of a session that were asked for as links; older ones are forgotten. */
export class KeptPictures {
  readonly #pictures = new Map<string, EncodedPicture>();

  /** Keeps a picture; answers the id that finds it, which nobody guesses. */
  keep(picture: EncodedPicture): string {
    const id = randomUUID();
    this.#pictures.set(id, picture);
    const [oldest] = this.#pictures.keys();
    if (this.#pictures.size > MAX_PICTURES && oldest !== undefined) this.#pictures.delete(oldest);
    return id;
  }

  find(id: string): EncodedPicture | undefined {
    return this.#pictures.get(id);
  }
}
