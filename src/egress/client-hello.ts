/** What the first bytes of a connection are: a TLS ClientHello with the server name in it, something else, or not enough yet. */
export type Opening =
  | { readonly kind: "tls"; readonly serverName: string | null }
  | { readonly kind: "other" }
  | { readonly kind: "incomplete" };

/** The largest ClientHello that is read; RFC 8446 allows more, nobody sends more. */
export const MAX_CLIENT_HELLO_BYTES = 32 * 1024;

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;

const OTHER: Opening = { kind: "other" };
const INCOMPLETE: Opening = { kind: "incomplete" };

/** Reads the server name of a ClientHello (RFC 8446 section 4.1.2, RFC 6066 section 3), also one spread over several records. */
export function readOpening(bytes: Buffer): Opening {
  const handshake = joinRecords(bytes);
  if (handshake === null) return OTHER;
  if (handshake.length < 4) return INCOMPLETE;
  if (handshake[0] !== CLIENT_HELLO) return OTHER;
  const length = handshake.readUIntBE(1, 3);
  if (length > MAX_CLIENT_HELLO_BYTES) return OTHER;
  if (handshake.length < 4 + length) return INCOMPLETE;
  try {
    return { kind: "tls", serverName: readServerName(new Reader(handshake.subarray(4, 4 + length))) };
  } catch (error) {
    if (error instanceof RangeError) return OTHER;
    throw error;
  }
}

/** The content of the whole records at the start; `null` when they are no handshake. */
function joinRecords(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (bytes[at] !== HANDSHAKE || (at + 1 < bytes.length && bytes[at + 1] !== 3))
      return parts.length > 0 ? Buffer.concat(parts) : null;
    if (at + 5 > bytes.length) break;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0) return null;
    parts.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return Buffer.concat(parts);
}

function readServerName(hello: Reader): string | null {
  hello.skip(2 + 32);
  hello.vector(1);
  hello.vector(2);
  hello.vector(1);
  if (hello.isAtEnd) return null;
  const extensions = hello.vector(2);
  let serverName: string | null = null;
  while (!extensions.isAtEnd) {
    const type = extensions.number(2);
    const body = extensions.vector(2);
    if (type !== SERVER_NAME) continue;
    // Two would let the server read another one than we do.
    if (serverName !== null) throw new RangeError("two server name extensions");
    const names = body.vector(2);
    if (names.number(1) !== HOST_NAME) throw new RangeError("no host name");
    serverName = names.vector(2).text();
    if (!names.isAtEnd) throw new RangeError("two server names");
  }
  return serverName;
}

/** Reads big-endian numbers and length-prefixed vectors; throws RangeError past the end. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  skip(length: number): void {
    this.#take(length);
  }

  number(bytes: number): number {
    return this.#take(bytes).readUIntBE(0, bytes);
  }

  vector(lengthBytes: number): Reader {
    return new Reader(this.#take(this.number(lengthBytes)));
  }

  text(): string {
    return this.#bytes.toString("latin1");
  }

  #take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw new RangeError("past the end");
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
