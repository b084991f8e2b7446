import type Docker from "dockerode";
import { ToolyardError } from "../../core/errors.ts";
import type { Logger } from "../../core/context.ts";
import type { ContainerRemover } from "./container-remover.ts";
import { type EngineClient, DEADLINES_MS } from "./engine-client.ts";
import { EngineFailure, isMissing, toUnavailable } from "./engine-failure.ts";
import { isOwn, toImageRemedy } from "./image-policy.ts";
import { type ImageFacts, probeImage } from "./image-probe.ts";

const PULL_MS = 15 * 60_000;
// The engine tells progress many times a second and per layer.
const PROGRESS_MS = 2_000;
// What is in an image never changes under its id, whichever engine and whoever asks.
const probed = new Map<string, ImageFacts>();

/** What a shelf is made of. */
export interface ImageShelfOptions {
  readonly engine: EngineClient;
  readonly remover: ContainerRemover;
  /** Of the container that looks into an image. */
  readonly labels: () => Promise<Readonly<Record<string, string>>>;
  readonly defaultUser: string;
  readonly logger?: Logger;
  /** Whether an image that is missing is asked of its registry. */
  readonly pull: boolean;
}

/** The engine's images, and what each of them has, looked up once per image id. */
export class ImageShelf {
  readonly #options: ImageShelfOptions;
  readonly #probes = new Map<string, Promise<ImageFacts>>();
  readonly #pulls = new Map<string, Promise<void>>();

  constructor(options: ImageShelfOptions) {
    this.#options = options;
  }

  /** @returns `null` when the engine does not have it. @throws EngineFailure */
  async find(name: string, signal?: AbortSignal): Promise<ImageFacts | null> {
    const inspected = await this.#inspect(name, signal);
    if (inspected === null) return null;
    const key = `${inspected.Id} ${name} ${this.#options.defaultUser}`;
    return probed.get(key) ?? this.#probeOnce(key, name, inspected);
  }

  /**
   * Finds an image, and pulls it first where that is allowed.
   *
   * @throws ToolyardError `runtime_unavailable` with how to get it. @throws EngineFailure
   */
  async require(name: string, signal: AbortSignal): Promise<ImageFacts> {
    const found = await this.find(name, signal);
    if (found !== null) return found;
    const missing = (cause?: unknown) =>
      new ToolyardError("runtime_unavailable", `the Docker Engine has no image ${name}`, {
        suggestion: `To get it: ${toImageRemedy(name)}`,
        ...(cause === undefined ? {} : { cause }),
      });
    if (!this.#options.pull || isOwn(name)) throw missing();
    try {
      await this.#pullOnce(name, signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof EngineFailure)) throw error;
      throw error.kind === "answered" ? missing(error) : toUnavailable(error);
    }
    const pulled = await this.find(name, signal);
    if (pulled === null) throw missing();
    return pulled;
  }

  // One look serves all that ask meanwhile.
  #probeOnce(key: string, name: string, inspected: Docker.ImageInspectInfo): Promise<ImageFacts> {
    const { labels, ...options } = this.#options;
    let facts = this.#probes.get(key);
    if (facts === undefined) {
      const look = async () => {
        const found = await probeImage({ ...options, name, inspected, labels: await labels() });
        probed.set(key, found);
        return found;
      };
      facts = look().finally(() => this.#probes.delete(key));
      this.#probes.set(key, facts);
    }
    return facts;
  }

  async #inspect(name: string, signal?: AbortSignal): Promise<Docker.ImageInspectInfo | null> {
    const call = { what: `looking for the image ${name}`, deadlineMs: DEADLINES_MS.look };
    try {
      return await this.#options.engine.call({ ...call, ...(signal !== undefined && { signal }) }, (docker) =>
        docker.getImage(name).inspect(),
      );
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  // One pull serves all that wait for it; whoever gives up does not end it for the others.
  #pullOnce(name: string, signal: AbortSignal): Promise<void> {
    let pull = this.#pulls.get(name);
    if (pull === undefined) {
      pull = this.#pull(name).finally(() => this.#pulls.delete(name));
      pull.catch(() => {});
      this.#pulls.set(name, pull);
    }
    return Promise.race([
      pull,
      new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
    ]);
  }

  async #pull(name: string): Promise<void> {
    const { engine, logger } = this.#options;
    logger?.info({ image: name }, "pulling an image");
    await engine.call({ what: `pulling the image ${name}`, deadlineMs: PULL_MS }, async (docker, signal) => {
      const stream = await docker.pull(name, { abortSignal: signal });
      let toldAt = 0;
      await new Promise<void>((resolve, reject) => {
        docker.modem.followProgress(
          stream,
          (error: Error | null) => (error === null ? resolve() : reject(new EngineFailure("answered", error.message))),
          (event: { status?: string; id?: string; progress?: string }) => {
            if (performance.now() - toldAt < PROGRESS_MS) return;
            toldAt = performance.now();
            logger?.info({ image: name, layer: event.id, status: event.status, progress: event.progress }, "pulling");
          },
        );
      });
    });
    logger?.info({ image: name }, "pulled an image");
  }
}
