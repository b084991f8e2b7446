import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { readSupervisorSources } from "../kernel/sources.ts";

const LOOK_MS = 1_000;
const INSTANCE = /^[0-9a-f]{12}$/;

/**
 * That a server lives, as others of its deployment can see: it listens on a socket, which the operating system takes from it
 * with its life, however that ends. A stopped (SIGSTOP) server still counts as alive.
 */
export class Presence {
  /** The name of this start of the server. */
  readonly instance = randomBytes(6).toString("hex");
  readonly #folder: string;
  readonly #server: Server;
  #sources: Promise<readonly string[]> | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#server = createServer((socket) => socket.destroy());
    this.#server.on("error", () => {});
    this.#server.unref();
  }

  static async open(stateFolder: string): Promise<Presence> {
    const presence = new Presence(join(stateFolder, "i"));
    await new Promise<void>((resolve, reject) => {
      presence.#server.once("error", reject);
      presence.#server.listen(presence.#path(presence.instance), resolve);
    });
    return presence;
  }

  /** Whether a server of that name lives; when in doubt it does. */
  isAlive(instance: string): Promise<boolean> {
    if (instance === this.instance) return Promise.resolve(true);
    if (!INSTANCE.test(instance)) return Promise.resolve(false);
    return new Promise((resolve) => {
      const path = this.#path(instance);
      const socket = connect(path);
      const settle = (alive: boolean) => {
        clearTimeout(timer);
        socket.destroy();
        resolve(alive);
      };
      const timer = setTimeout(() => settle(true), LOOK_MS);
      socket.once("connect", () => settle(true));
      socket.once("error", (error) => {
        const code = "code" in error ? error.code : undefined;
        const dead = code === "ECONNREFUSED" || code === "ENOENT";
        settle(!dead);
      });
    });
  }

  /** The supervisor's files as this version of the server has them, for links to them. */
  sources(): Promise<readonly string[]> {
    this.#sources ??= this.#writeSources().catch((error: unknown) => {
      this.#sources = undefined;
      throw error;
    });
    return this.#sources;
  }

  /** Removes what dead servers left of themselves. */
  async sweep(): Promise<void> {
    const names = new Set((await readdir(this.#folder)).map((file) => file.slice(0, file.indexOf("."))));
    await Promise.all(
      [...names].map(async (name) => {
        if (!(await this.isAlive(name))) await this.#remove(name);
      }),
    );
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#remove(this.instance);
  }

  async #writeSources(): Promise<readonly string[]> {
    const folder = join(this.#folder, `${this.instance}.sources`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return Promise.all(
      readSupervisorSources().map(async ({ name, content }) => {
        const path = join(folder, name);
        await writeFile(path, content);
        await chmod(path, 0o444);
        return path;
      }),
    );
  }

  async #remove(instance: string): Promise<void> {
    await rm(this.#path(instance), { force: true });
    await rm(join(this.#folder, `${instance}.sources`), { recursive: true, force: true });
  }

  #path(instance: string): string {
    return join(this.#folder, `${instance}.sock`);
  }
}
