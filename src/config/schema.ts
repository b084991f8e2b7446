import { z } from "zod";
import { defaultLimitsConfig, limitsSchema } from "./limits.ts";
import { PORTS_ORIGIN } from "../server/planes/ports/port-address.ts";
import { securitySchema } from "./security.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

/** The level names of the known implementation's configs, in any case. */
const LogLevel = z.preprocess(
  (level) => (typeof level === "string" ? level.toLowerCase().replace(/^warning$/, "warn") : level),
  z.enum(LOG_LEVELS),
);

const Seconds = z.number().positive().max(2_147_483);

const Server = z.strictObject({
  title: z.string().default("Toolyard"),
  description: z.string().default("Sandboxes, desktops, indexes and tools for agent workers, behind one call."),
  host: z.string().min(1).default("127.0.0.1"),
  /** 0 lets the system choose. */
  port: z.int().min(0).max(65_535).default(18_890),
  /** Seconds that an idle session lives; `limits.session_ttl_ms` wins over it. */
  session_ttl: Seconds.optional(),
  /** Seconds between two sweeps; `limits.sweep_interval_ms` wins over it. */
  cleanup_interval: Seconds.optional(),
  log_level: LogLevel.default("info"),
  /** The names beside loopback that a Host header may carry. */
  allowed_hosts: z.array(z.string()).default([]),
  /** The origins that browsers may call from. */
  allowed_origins: z.array(z.string()).default([]),
  /** Where each exposed port has an origin of its own: `http://*.localhost`, whose star stands for the port. */
  ports_origin: z.string().regex(PORTS_ORIGIN, { error: "it is an origin whose first label is *" }).optional(),
});

const RESOURCE_NAME = /^[a-z][a-z0-9_-]{0,63}$/i;

const Resource = z
  .strictObject({
    enabled: z.boolean().default(true),
    /** A built-in name, or the path of a module relative to the config file, with `#Export` when it is not the default. */
    backend: z.string().min(1).optional(),
    /** The known implementation's name for `backend`. */
    backend_class: z.string().min(1).optional(),
    description: z.string().optional(),
    /** Runs the backend in a worker thread, so that blocking code holds nobody else; by default as the backend asks. */
    thread: z.boolean().optional(),
    config: z.record(z.string(), z.unknown()).default({}),
  })
  .refine((entry) => entry.backend === undefined || entry.backend_class === undefined, {
    path: ["backend_class"],
    error: "it says the same as backend: keep one of them",
  })
  .transform(({ backend_class: alias, ...entry }) => ({ ...entry, backend: entry.backend ?? alias }));

/** The runtimes that a config may name. */
export const RUNTIME_NAMES = ["docker", "local", "quickjs"] as const;

const Count = z.int().min(1).optional();

const LIMITS = {
  memory_mib: Count,
  pids: Count,
  disk_mib: Count,
  output_bytes: Count,
  result_bytes: Count,
  calls: Count,
  calls_in_flight: Count,
};

/** What bounds every sandbox of a runtime where its session does not say. */
const SandboxLimits = z.strictObject(LIMITS).prefault({});
const ContainerLimits = z.strictObject({ ...LIMITS, cpus: z.number().min(0.01).optional() }).prefault({});

/** How many sandboxes are kept started. */
const Pool = z
  .strictObject({
    /** Sandboxes of the runtime's own defaults that are held at all times. */
    min: z.int().min(0).max(1024).default(1),
    /** Of all kinds that sessions ask for, together. */
    max: z.int().min(1).max(1024).default(16),
    /** Started at once. */
    parallel: z.int().min(1).max(64).default(4),
    /** How long it stays grown when no session misses one. */
    idle_ms: z.int().min(1_000).default(300_000),
    /** Resets sandboxes that were used, and takes them back when nothing is left in them. */
    reuse: z.boolean().default(false),
    /** Interpreters that each of them has started. */
    kernels: z.array(z.enum(["python", "javascript", "bash"])).default([]),
  })
  .refine(({ min, max }) => min <= max, { path: ["min"], error: "it is above max" })
  .optional();

const Docker = z
  .strictObject({
    /** The path of the engine's unix socket; that of DOCKER_HOST, or the usual one, by default. */
    socket: z.string().min(1).optional(),
    /** Of sessions that name none. */
    image: z.string().min(1).optional(),
    /** Further images that sessions may choose; `*` stands for any characters. */
    images: z.array(z.string().min(1)).default([]),
    /** Whether an image that is missing is pulled. */
    pull: z.boolean().default(true),
    /** The engine's name of an OCI runtime, `runsc` say. */
    runtime: z.string().min(1).optional(),
    limits: ContainerLimits,
    /** What no session may ask more than. */
    max_limits: ContainerLimits,
    /** Where sockets and tokens are kept. */
    state_folder: z.string().min(1).optional(),
    /** How long a container waits for the next server when its own has died. */
    orphan_seconds: z.int().min(1).default(600),
    pool: Pool,
  })
  .prefault({});

const Runtimes = z.strictObject({
  /** Which runtimes to try, best first; the first that is available serves. */
  order: z.union([z.literal("auto"), z.array(z.enum(RUNTIME_NAMES)).min(1)]).default("auto"),
  docker: Docker,
  local: z.strictObject({ limits: SandboxLimits, pool: Pool }).prefault({}),
  /** How sandboxes reach the hosts that their network policy lists. */
  egress: z
    .strictObject({
      /** Addresses beside the public ones that listed hosts may be at, as 10.1.0.0/16. */
      allowed_addresses: z.array(z.string()).default([]),
      /** Connections of one sandbox at once. */
      connections: z.int().min(1).max(4096).default(64),
    })
    .prefault({}),
  quickjs: z
    .strictObject({
      limits: SandboxLimits,
      /** Engines that are kept started. */
      spares: z.int().min(0).max(256).optional(),
    })
    .prefault({}),
});

/** The shape of a config file after its placeholders are filled in; the output has every default. */
export const configSchema = z
  .strictObject({
    $schema: z.string().optional(),
    server: Server.prefault({}),
    resources: z
      .record(z.string().regex(RESOURCE_NAME, { error: "a resource is named with letters, digits, - and _" }), Resource)
      .default({}),
    /** Keys and settings of API tools, by the tool's own name for them. */
    apis: z.record(z.string(), z.unknown()).default({}),
    warmup: z
      .strictObject({
        enabled: z.boolean().default(false),
        /** All of them by default. */
        resources: z.array(z.string()).optional(),
      })
      .prefault({}),
    runtimes: Runtimes.prefault({}),
    /** Where state is kept: in the data folder, or in the process, which forgets it at its end. */
    store: z.strictObject({ driver: z.enum(["sqlite", "memory"]).default("sqlite") }).prefault({}),
    limits: limitsSchema.optional(),
    security: securitySchema.prefault({}),
  })
  .transform(({ $schema: _, limits, ...config }) => ({
    ...config,
    limits: {
      ...defaultLimitsConfig,
      ...(config.server.session_ttl !== undefined && { session_ttl_ms: config.server.session_ttl * 1000 }),
      ...(config.server.cleanup_interval !== undefined && { sweep_interval_ms: config.server.cleanup_interval * 1000 }),
      ...limits,
    },
  }))
  .superRefine((config, context) => {
    const { limits } = config;
    const bounded = [
      ["session_ttl_ms", "max_session_ttl_ms"],
      ["call_timeout_ms", "max_call_timeout_ms"],
    ] as const;
    for (const [name, maximum] of bounded) {
      if (limits[name] <= limits[maximum]) continue;
      const message = `${limits[name]} is above limits.${maximum}, which is ${limits[maximum]}`;
      context.addIssue({ code: "custom", path: ["limits", name], message });
    }
    const origins = [...config.server.allowed_origins, ...config.security.allowed_origins];
    if (config.security.cors.credentials && origins.includes("*")) {
      const message = 'credentials are never allowed to every origin: list origins in place of "*"';
      context.addIssue({ code: "custom", path: ["security", "cors", "credentials"], message });
    }
    for (const name of config.warmup.resources ?? []) {
      if (Object.hasOwn(config.resources, name)) continue;
      const message = `there is no resource "${name}"`;
      context.addIssue({ code: "custom", path: ["warmup", "resources"], message });
    }
  });

/** A config as the server reads it: checked, with every default filled in. */
export type Config = z.output<typeof configSchema>;

/** What a config says of one mounted backend. */
export type ResourceConfig = Config["resources"][string];
