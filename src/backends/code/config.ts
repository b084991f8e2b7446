import { z } from "zod";
import { ISOLATION_LEVELS, isolatesAtLeast, type RuntimeRequest, type SandboxSpec } from "../../core/runtime.ts";
import { coveredBy, NetworkHost } from "../../core/network-hosts.ts";

const Limit = (maximum: number) => z.int().min(1).max(maximum);
const Cpus = z.number().min(0.01).max(1024);
const Image = z.string().min(1).max(256);
const Network = z.union([z.literal("none"), z.strictObject({ allow: z.array(NetworkHost).max(256) })]);

/** The backend's entry in the config file; every maximum bounds what a session may ask for. */
export const CodeConfig = z.strictObject({
  /** A runtime's name, or `auto`. */
  runtime: z.string().default("auto"),
  min_isolation: z.enum(ISOLATION_LEVELS).optional(),
  /** A container image, where the runtime has images; the runtime's own by default. */
  image: Image.optional(),
  /** The images that sessions may ask for; any by default. */
  images: z.array(Image).max(256).optional(),
  /** What sandboxes may reach: `none`, or `{"allow": ["example.org", "*.example.org:443"]}`. */
  network: Network.default("none"),
  /** The hosts that sessions may ask for, `*` for any; those of `network` by default. */
  max_network_allow: z
    .array(z.union([z.literal("*"), NetworkHost]))
    .max(256)
    .optional(),
  memory_mib: Limit(1 << 20).optional(),
  pids: Limit(1 << 16).optional(),
  disk_mib: Limit(1 << 20).optional(),
  cpus: Cpus.optional(),
  output_bytes: Limit(8 << 20).optional(),
  /** Milliseconds that code may run when the call does not say. */
  timeout_ms: Limit(86_400_000).default(60_000),
  max_timeout_ms: Limit(86_400_000).default(600_000),
  max_memory_mib: Limit(1 << 20).default(2048),
  max_pids: Limit(1 << 16).default(512),
  max_disk_mib: Limit(1 << 20).default(1024),
  max_cpus: Cpus.default(4),
  max_output_bytes: Limit(8 << 20).default(1024 * 1024),
  /** Kernels of one session at once. */
  max_kernels: Limit(256).default(8),
  /** Commands of one session in the background at once, ended ones that are not removed included. */
  max_background: Limit(1024).default(32),
  /** Snapshots of one tenant, and the MiB that they may take together. */
  max_snapshots: Limit(100_000).default(64),
  max_snapshots_mib: Limit(1 << 20).default(4096),
});
export type CodeConfig = z.infer<typeof CodeConfig>;

/** Builds the schema of what a session may set, within the config's maxima. */
export function createSessionSchema(config: CodeConfig) {
  const own = config.network === "none" ? [] : config.network.allow;
  const allowed = config.max_network_allow ?? own;
  return z.strictObject({
    /** A runtime's name, or `auto`. */
    runtime: z.string().optional(),
    /** Refused when no runtime is as strong; never weaker than the config's own. */
    min_isolation: z.enum(ISOLATION_LEVELS).optional(),
    image: Image.refine(
      (image) => config.images === undefined || config.images.includes(image) || image === config.image,
      {
        error: "this image is not among those that the server's config allows",
      },
    ).optional(),
    network: Network.refine(
      (network) => network === "none" || network.allow.every((host) => coveredBy(host, [...own, ...allowed])),
      { error: "not all of these hosts are among those that the server's config allows (max_network_allow)" },
    ).optional(),
    memory_mib: Limit(config.max_memory_mib).optional(),
    pids: Limit(config.max_pids).optional(),
    disk_mib: Limit(config.max_disk_mib).optional(),
    cpus: Cpus.max(config.max_cpus).optional(),
    output_bytes: Limit(config.max_output_bytes).optional(),
    /** Milliseconds that code may run when the call does not say. */
    timeout_ms: Limit(config.max_timeout_ms).optional(),
    /** Environment variables of user code. */
    environment: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(32_768)).optional(),
    /** The id of a snapshot of the same tenant, whose files and kernels the session starts with. */
    snapshot: z.string().min(1).max(128).optional(),
  });
}
export type CodeSessionConfig = z.infer<ReturnType<typeof createSessionSchema>>;

/** What the server's store kept of a session, for its adoption. */
export const StoredHandle = z.object({ runtime: z.string(), handle: z.unknown() });

/** What a session asks for, where the config's own minimum isolation holds against a weaker wish. */
export function toRuntimeRequest(config: CodeConfig, session: CodeSessionConfig): RuntimeRequest {
  const own = config.min_isolation;
  const asked = session.min_isolation;
  const weaker = own !== undefined && (asked === undefined || isolatesAtLeast(own, asked));
  const minIsolation = weaker ? own : asked;
  return { runtime: session.runtime ?? config.runtime, ...(minIsolation === undefined ? {} : { minIsolation }) };
}

/** What a session's sandboxes are made from, beside their owner. */
export function toSandboxSpec(config: CodeConfig, session: CodeSessionConfig): SandboxSpec {
  const { image, network, memory_mib, pids, disk_mib, cpus, output_bytes } = { ...config, ...session };
  return {
    limits: {
      ...(memory_mib === undefined ? {} : { memoryMiB: memory_mib }),
      ...(pids === undefined ? {} : { pids }),
      ...(disk_mib === undefined ? {} : { diskMiB: disk_mib }),
      ...(cpus === undefined ? {} : { cpus }),
      ...(output_bytes === undefined ? {} : { outputBytes: output_bytes }),
    },
    ...(image === undefined ? {} : { image }),
    ...(network === undefined || network === "none" ? {} : { network }),
    ...(session.environment === undefined ? {} : { environment: session.environment }),
  };
}
