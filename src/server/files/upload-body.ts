import type { IncomingMessage } from "node:http";
import { ToolyardError } from "../../core/errors.ts";

/** What bounds an upload. */
export interface UploadLimits {
  readonly uploadBytes: number;
  /** How long the client may send nothing. */
  readonly transferStallMs: number;
}

/** A request's body as it comes, for a reader that takes its time; it fails as a whole or ends as a whole. */
export class UploadBody implements AsyncIterable<Uint8Array> {
  readonly #incoming: IncomingMessage;
  readonly #limits: UploadLimits;
  #bytes = 0;
  #failure: ToolyardError | undefined;

  /** @throws ToolyardError payload_too_large when the request says that it is. */
  constructor(incoming: IncomingMessage, limits: UploadLimits) {
    this.#incoming = incoming;
    this.#limits = limits;
    if (Number(incoming.headers["content-length"] ?? 0) > limits.uploadBytes) throw this.#tooLarge();
  }

  /** What has come. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Why it failed, whatever its reader made of that. */
  get failure(): ToolyardError | undefined {
    return this.#failure;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    const incoming = this.#incoming;
    const { transferStallMs } = this.#limits;
    const onStall = () => {
      this.#failure ??= new ToolyardError("request_timeout", `The client sent nothing for ${transferStallMs} ms`);
      incoming.destroy(this.#failure);
    };
    let timer = setTimeout(onStall, transferStallMs);
    try {
      // Not destroyed when it is left half read: who sent it is to get its answer.
      const chunks: AsyncIterable<Buffer> = incoming.iterator({ destroyOnReturn: false });
      for await (const chunk of chunks) {
        clearTimeout(timer);
        this.#bytes += chunk.length;
        if (this.#bytes > this.#limits.uploadBytes) throw (this.#failure = this.#tooLarge());
        yield chunk;
        timer = setTimeout(onStall, transferStallMs);
      }
      if (!incoming.complete) throw new Error("the body ended before its end");
    } catch (error) {
      this.#failure ??= ToolyardError.is(error)
        ? error
        : new ToolyardError("cancelled", "The client went away before its file was whole", { cause: error });
      throw this.#failure;
    } finally {
      clearTimeout(timer);
    }
  }

  #tooLarge(): ToolyardError {
    const { uploadBytes } = this.#limits;
    return new ToolyardError(
      "payload_too_large",
      `The upload is larger than limits.upload_bytes, ${uploadBytes} bytes`,
      {
        details: { limit: "upload_bytes", maximum: uploadBytes },
      },
    );
  }
}
