import { timingSafeEqual } from "node:crypto";
import { chmod, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { encodeFrame } from "../kernel/frame.ts";
import type { SessionFolder } from "./session-folder.ts";

const PROOF_MS = 10_000;
const MAX_UNPROVEN = 8;

/**
 * Where a container's supervisor connects to: takes the first connection whose first frame is the session's token, and no
 * other. User code may connect too, for as long as nobody has proven anything; it does not know the token.
 */
export class SessionSocket {
  readonly #server: Server;
  readonly #folder: SessionFolder;
  readonly #unproven = new Set<Socket>();
  readonly #proven = Promise.withResolvers<Duplex>();
  #closed = false;

  private constructor(folder: SessionFolder) {
    this.#folder = folder;
    this.#server = createServer((socket) => this.#admit(socket));
    this.#server.unref();
    // Nobody may be waiting when it is closed.
    this.#proven.promise.catch(() => {});
  }

  static async listen(folder: SessionFolder): Promise<SessionSocket> {
    const listening = new SessionSocket(folder);
    // The one that a dead server left would be in the way.
    await rm(folder.socketPath, { force: true });
    await new Promise<void>((resolve, reject) => {
      listening.#server.once("error", reject);
      listening.#server.listen(folder.socketPath, resolve);
    });
    await chmod(folder.socketPath, 0o666);
    return listening;
  }

  /** Resolves with the channel to the supervisor; rejects when the signal fires or it is closed. */
  connected(signal: AbortSignal): Promise<Duplex> {
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason);
      if (signal.aborted) abort();
      signal.addEventListener("abort", abort, { once: true });
      this.#proven.promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    });
  }

  /** Takes no connection any more; one that has proven itself stays. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const socket of this.#unproven) socket.destroy();
    this.#proven.reject(new Error("nobody waits for the supervisor any more"));
    this.#server.close();
    await rm(this.#folder.socketPath, { force: true });
  }

  #admit(socket: Socket): void {
    socket.on("error", () => {});
    if (this.#closed || this.#unproven.size >= MAX_UNPROVEN) {
      socket.destroy();
      return;
    }
    this.#unproven.add(socket);
    const expected = encodeFrame({ t: "auth", token: this.#folder.token });
    let seen = Buffer.alloc(0);
    const timer = setTimeout(() => socket.destroy(), PROOF_MS).unref();
    const leave = () => {
      clearTimeout(timer);
      this.#unproven.delete(socket);
    };
    const read = (chunk: Buffer) => {
      seen = Buffer.concat([seen, chunk]);
      if (seen.length < expected.length) return;
      socket.off("data", read);
      if (this.#closed || !timingSafeEqual(seen.subarray(0, expected.length), expected)) {
        socket.destroy();
        return;
      }
      leave();
      socket.pause();
      if (seen.length > expected.length) socket.unshift(seen.subarray(expected.length));
      this.#proven.resolve(socket);
      void this.close();
    };
    socket.on("data", read);
    socket.once("close", leave);
  }
}
