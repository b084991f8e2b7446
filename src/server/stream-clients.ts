import { ToolyardError } from "../core/errors.ts";

/** Counts the clients that follow a stream, and refuses more than the server can bear. */
export class StreamClients {
  readonly #maximum: number;
  #count = 0;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Lets one more in; the returned function lets it out again, once.
   *
   * @throws ToolyardError overloaded
   */
  enter(): () => void {
    if (this.#count >= this.#maximum) {
      throw new ToolyardError("overloaded", `${this.#maximum} clients follow streams already`, {
        details: { limit: "stream_clients", maximum: this.#maximum },
      });
    }
    this.#count += 1;
    let inside = true;
    return () => {
      if (inside) this.#count -= 1;
      inside = false;
    };
  }
}
