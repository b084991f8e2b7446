import type { Availability, Language, RuntimeStatus, SandboxLimits } from "../../core/runtime.ts";

/** What a container is found again by after its server died; holds no secret. */
export interface DockerHandle {
  readonly deployment: string;
  readonly container: string;
  readonly folder: string;
  readonly image: string;
  readonly limits: Required<SandboxLimits>;
  readonly languages: RuntimeStatus["languages"];
  /** The hosts that it may reach. */
  readonly allow?: readonly string[];
}

const LIMITS = [
  "memoryMiB",
  "pids",
  "diskMiB",
  "cpus",
  "outputBytes",
  "resultBytes",
  "calls",
  "callsInFlight",
] as const satisfies readonly (keyof SandboxLimits)[];
const LANGUAGES: readonly Language[] = ["python", "javascript", "bash"];

/** Reads what a store kept; `null` for what is none of ours or of a version that knew other things. */
export function parseHandle(value: unknown): DockerHandle | null {
  if (!isFields(value)) return null;
  const { deployment, container, folder, image, limits, languages } = value;
  if (typeof deployment !== "string" || typeof container !== "string") return null;
  if (typeof folder !== "string" || typeof image !== "string" || !isFields(limits) || !isFields(languages)) return null;
  if (!/^[0-9a-f]{64}$/.test(container)) return null;
  const kept: Partial<Record<keyof SandboxLimits, number>> = {};
  for (const name of LIMITS) {
    const limit = limits[name];
    if (typeof limit !== "number" || !(limit > 0)) return null;
    kept[name] = limit;
  }
  const known: Partial<Record<Language, Availability>> = {};
  for (const name of LANGUAGES) {
    const found = languages[name];
    if (isFields(found) && typeof found["available"] === "boolean") {
      const { available, reason, remedy } = found;
      known[name] = {
        available,
        ...(typeof reason === "string" && { reason }),
        ...(typeof remedy === "string" && { remedy }),
      };
    }
  }
  const { allow } = value;
  if (allow !== undefined && !isTexts(allow)) return null;
  return {
    ...{ deployment, container, folder, image, languages: known },
    // Every limit was looked at just before.
    limits: kept as Required<SandboxLimits>,
    ...(allow !== undefined && { allow }),
  };
}

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === "string");
