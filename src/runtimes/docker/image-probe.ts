import type Docker from "dockerode";
import type { Availability, Language, RuntimeStatus } from "../../core/runtime.ts";
import type { ContainerRemover } from "./container-remover.ts";
import { type EngineClient, DEADLINES_MS } from "./engine-client.ts";
import { EngineFailure, isMissing, toEngineFailure } from "./engine-failure.ts";

/** The programs that sandboxes are built on; where the image has them. */
export type Programs = Readonly<Partial<Record<"python3" | "node" | "bash" | "sh", string>>>;

/** What is known of an image. */
export interface ImageFacts {
  readonly id: string;
  readonly name: string;
  readonly programs: Programs;
  /** `uid:gid`, never root's. */
  readonly user: string;
  readonly languages: RuntimeStatus["languages"];
}

const NAMES = ["python3", "node", "bash", "sh"] as const;
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const MAX_FOLDERS = 16;

/**
 * Looks what an image has without running any of it: makes a container that is never started, asks the engine for paths in
 * it, and removes it.
 */
export async function probeImage(options: {
  readonly engine: EngineClient;
  readonly remover: ContainerRemover;
  readonly name: string;
  readonly inspected: Docker.ImageInspectInfo;
  readonly labels: Readonly<Record<string, string>>;
  readonly defaultUser: string;
}): Promise<ImageFacts> {
  const { engine, remover, name, inspected, labels, defaultUser } = options;
  const { Id: id, Config: config } = inspected;
  const variables = config?.Env ?? [];
  const path = variables.find((variable) => variable.startsWith("PATH="))?.slice("PATH=".length) ?? PATH;
  const folders = [...new Set(path.split(":").filter((folder) => folder.startsWith("/")))].slice(0, MAX_FOLDERS);
  const call = { what: `looking into the image ${name}`, deadlineMs: DEADLINES_MS.create };
  const container = await engine.call(call, (docker, signal) =>
    docker.createContainer({
      Image: id,
      Entrypoint: ["/none"],
      Cmd: [],
      Labels: { ...labels },
      HostConfig: { NetworkMode: "none" },
      abortSignal: signal,
    }),
  );
  try {
    const found = await Promise.all(
      NAMES.map(async (program) => {
        for (const folder of folders) {
          const path = `${folder}/${program}`;
          // One after another: for each look the engine mounts the whole image, and a busy one chokes on dozens at once.
          // oxlint-disable-next-line no-await-in-loop
          if (await has(engine, container, path)) return [[program, path] as const];
        }
        return [];
      }),
    );
    const programs: Programs = Object.fromEntries(found.flat());
    const user = /^[1-9]\d*(:\d+)?$/.test(config?.User ?? "") ? (config?.User ?? "") : defaultUser;
    return { id, name, programs, user, languages: toLanguages(name, programs) };
  } finally {
    await remover.remove(container.id);
  }
}

async function has(engine: EngineClient, container: Docker.Container, path: string): Promise<boolean> {
  const call = { what: `looking for ${path}`, deadlineMs: DEADLINES_MS.look };
  try {
    await engine.call(call, async (_docker, signal) => {
      const response: { resume?: () => void } = await container
        .infoArchive({ path, abortSignal: signal })
        .catch((error: unknown) => {
          throw toEngineFailure(call.what, error);
        });
      response.resume?.();
    });
    return true;
  } catch (error) {
    // An older engine says 500 for a path that leads through a link to nowhere.
    if (isMissing(error) || (error instanceof EngineFailure && error.kind === "answered")) return false;
    throw error;
  }
}

function toLanguages(image: string, programs: Programs): RuntimeStatus["languages"] {
  const language = (program: "python3" | "node" | "bash"): Availability => {
    if (programs.python3 === undefined) return lacks(image, "python3, which every kernel needs");
    return programs[program] === undefined ? lacks(image, program) : { available: true };
  };
  const languages: Record<Language, Availability> = {
    python: language("python3"),
    javascript: language("node"),
    bash: language("bash"),
  };
  return languages;
}

function lacks(image: string, what: string): Availability {
  return {
    available: false,
    reason: `the image ${image} has no ${what}`,
    remedy: "choose an image that has it, toolyard/code say",
  };
}
