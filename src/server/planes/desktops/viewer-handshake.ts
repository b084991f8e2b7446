import { ByteQueue } from "./byte-queue.ts";
import { RfbViolation } from "./rfb-violation.ts";

const VERSION = "RFB 003.008\n";
const SECURITY_NONE = 1;

type Step = "version" | "security" | "init";

/**
 * The display's side of the handshake (RFC 6143 section 7.1 to 7.3), which we speak in its place: without a password, since who
 * came was let in by a ticket or a key, and without any other kind of security, whose messages we would not know.
 */
export class ViewerHandshake {
  readonly #queue = new ByteQueue();
  #step: Step = "version";
  #minor = 8;

  /** The first word. */
  static readonly greeting: Buffer = Buffer.from(VERSION, "latin1");

  /**
   * Takes what the viewer said; answers what to say, and once it is through, what it said behind.
   *
   * @throws RfbViolation
   */
  push(chunk: Uint8Array): { readonly reply: Buffer; readonly rest?: Buffer } {
    this.#queue.push(chunk);
    const replies: Buffer[] = [];
    for (;;) {
      const needed = this.#step === "version" ? VERSION.length : 1;
      if (this.#queue.length < needed) return { reply: Buffer.concat(replies) };
      const said = this.#queue.take(needed);
      if (this.#step === "init") {
        // Whether it wants the display for itself: nobody has it so.
        return { reply: Buffer.concat(replies), rest: this.#queue.take(this.#queue.length) };
      }
      replies.push(this.#step === "version" ? this.#takeVersion(said) : this.#takeSecurity(said));
    }
  }

  #takeVersion(said: Buffer): Buffer {
    const [, major, minor] = /^RFB (\d{3})\.(\d{3})\n$/.exec(said.toString("latin1")) ?? [];
    if (major === undefined) throw new RfbViolation("this is no RFB");
    // 3.5 and the like were never published: they are 3.3.
    this.#minor = Number(major) > 3 || Number(minor) >= 8 ? 8 : Number(minor) === 7 ? 7 : 3;
    if (this.#minor === 3) {
      this.#step = "init";
      return Buffer.of(0, 0, 0, SECURITY_NONE);
    }
    this.#step = "security";
    return Buffer.of(1, SECURITY_NONE);
  }

  #takeSecurity(said: Buffer): Buffer {
    if (said.readUInt8(0) !== SECURITY_NONE) throw new RfbViolation("a kind of security that was not offered");
    this.#step = "init";
    return this.#minor === 8 ? Buffer.alloc(4) : Buffer.alloc(0);
  }
}
