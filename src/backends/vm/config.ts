import { z } from "zod";
import { coveredBy, NetworkHost } from "../../core/network-hosts.ts";
import { ISOLATION_LEVELS, type SandboxSpec } from "../../core/runtime.ts";
import { DEFAULT_SETTLING } from "./actions/settle.ts";
import type { OperatorOptions } from "./actions/operator.ts";
import type { DesktopSpec } from "./desktop/provider.ts";
import { SetupSteps } from "./desktop/setup.ts";
import { QemuConfig } from "./qemu/qemu-config.ts";
import { RecordingConfig } from "./recording/recording-schemas.ts";

const Limit = (maximum: number) => z.int().min(1).max(maximum);
const Cpus = z.number().min(0.01).max(1024);
const Image = z.string().min(1).max(256);
const Network = z.union([z.literal("none"), z.strictObject({ allow: z.array(NetworkHost).max(256) })]);
const Environment = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(32_768));

const Shown = {
  width: z.int().min(320).max(4_096),
  height: z.int().min(240).max(4_096),
  dpi: z.int().min(48).max(384),
  max_long_edge: z.int().min(16).max(8_192).optional().describe("Of screenshots; the screen's own size by default."),
  format: z.enum(["png", "jpeg", "webp"]),
  quality: z.int().min(1).max(100).optional(),
  show_cursor: z.boolean(),
  accessibility_tree: z.boolean().describe("Answers the accessibility tree with every known tool, as XML."),
};

const VmFields = z.strictObject({
  provider: z
    .string()
    .max(64)
    .default("auto")
    .describe("Where desktops run: a runtime's name, qemu, or auto for the first runtime that can hold one."),
  qemu: QemuConfig.optional().describe("What the machines of the provider qemu are."),
  min_isolation: z.enum(ISOLATION_LEVELS).optional(),
  image: Image.optional().describe("Of containers; toolyard/desktop by default."),
  images: z.array(Image).max(256).optional().describe("Those that sessions may ask for; any by default."),
  network: Network.default("none").describe("What desktops may reach: none, or a list of hosts."),
  max_network_allow: z
    .array(z.union([z.literal("*"), NetworkHost]))
    .max(256)
    .optional()
    .describe("The hosts that sessions may ask for, * for any; those of network by default."),
  memory_mib: Limit(1 << 20).default(2_048),
  pids: Limit(1 << 16).default(512),
  disk_mib: Limit(1 << 20).default(1_024),
  cpus: Cpus.default(2),
  max_memory_mib: Limit(1 << 20).default(4_096),
  max_pids: Limit(1 << 16).default(1_024),
  max_disk_mib: Limit(1 << 20).default(4_096),
  max_cpus: Cpus.default(4),
  width: Shown.width.default(1_280),
  height: Shown.height.default(800),
  dpi: Shown.dpi.default(96),
  max_long_edge: Shown.max_long_edge,
  format: Shown.format.default("png"),
  quality: Shown.quality,
  show_cursor: Shown.show_cursor.default(false),
  accessibility_tree: Shown.accessibility_tree.default(false),
  quiet_ms: z.int().min(0).max(10_000).default(DEFAULT_SETTLING.quietMs).describe("When a screen counts as settled."),
  settle_ms: z
    .int()
    .min(0)
    .max(60_000)
    .default(DEFAULT_SETTLING.maxMs)
    .describe("How long that is waited for at most."),
  ready_ms: Limit(3_600_000).default(60_000).describe("How long a desktop may take until it shows something."),
  setup: SetupSteps.default([]).describe("What is done in every desktop before its session begins."),
  recordings: RecordingConfig.prefault({}),
  pool: z
    .strictObject({
      min: z.int().min(0).max(256).default(1).describe("Desktops of the config's own kind that are held ready."),
      parallel: Limit(64).default(2).describe("Started at once."),
    })
    .optional(),
});

/** The `config` of a vm backend's entry; every maximum bounds what a session may ask for. */
export const VmConfig = VmFields.refine(({ provider, qemu }) => provider !== "qemu" || qemu !== undefined, {
  path: ["qemu"],
  message: "The provider qemu needs to know its image.",
});
export type VmConfig = z.infer<typeof VmConfig>;

/** Builds the schema of what a session may set, within the config's maxima. */
export function createSessionSchema(config: VmConfig) {
  const own = config.network === "none" ? [] : config.network.allow;
  const allowed = config.max_network_allow ?? own;
  const isAllowed = (image: string) =>
    config.images === undefined || config.images.includes(image) || image === config.image;
  return z.strictObject({
    image: Image.refine(isAllowed, {
      error: "this image is not among those that the server's config allows",
    }).optional(),
    network: Network.refine(
      (network) => network === "none" || network.allow.every((host) => coveredBy(host, [...own, ...allowed])),
      { error: "not all of these hosts are among those that the server's config allows (max_network_allow)" },
    ).optional(),
    memory_mib: Limit(config.max_memory_mib).optional(),
    pids: Limit(config.max_pids).optional(),
    disk_mib: Limit(config.max_disk_mib).optional(),
    cpus: Cpus.max(config.max_cpus).optional(),
    environment: Environment.optional().describe("Environment variables of the desktop's programs."),
    width: Shown.width.optional(),
    height: Shown.height.optional(),
    dpi: Shown.dpi.optional(),
    max_long_edge: Shown.max_long_edge,
    format: Shown.format.optional(),
    quality: Shown.quality,
    show_cursor: Shown.show_cursor.optional(),
    accessibility_tree: Shown.accessibility_tree.optional(),
    instruction: z.string().max(100_000).optional().describe("What the agent is to do, as its observations tell it."),
    setup: SetupSteps.optional().describe(
      "What is done in the desktop before the session begins, after the config's own.",
    ),
  });
}
export type VmSessionConfig = z.infer<ReturnType<typeof createSessionSchema>>;

export function toOperatorOptions(config: VmConfig, session: VmSessionConfig): OperatorOptions {
  return {
    showing: { maxLongEdge: session.max_long_edge ?? config.max_long_edge },
    format: session.format ?? config.format,
    quality: session.quality ?? config.quality,
    showCursor: session.show_cursor ?? config.show_cursor,
    dpi: session.dpi ?? config.dpi,
    accessibilityTree: session.accessibility_tree ?? config.accessibility_tree,
    settling: { quietMs: config.quiet_ms, maxMs: config.settle_ms },
  };
}

/** What a session's desktop is to be, beside its owner. */
export function toDesktopSpec(config: VmConfig, session: VmSessionConfig): DesktopSpec {
  const network = session.network ?? config.network;
  const image = session.image ?? config.image;
  const sandbox: SandboxSpec = {
    limits: {
      memoryMiB: session.memory_mib ?? config.memory_mib,
      pids: session.pids ?? config.pids,
      diskMiB: session.disk_mib ?? config.disk_mib,
      cpus: session.cpus ?? config.cpus,
    },
    ...(image !== undefined && { image }),
    ...(network !== "none" && { network }),
    ...(session.environment !== undefined && { environment: session.environment }),
  };
  const { width = config.width, height = config.height, dpi = config.dpi } = session;
  return { width, height, dpi, sandbox };
}

/** What the server's store kept of a session, for its adoption. */
export const StoredDesktop = z.object({
  desktop: z.unknown(),
  size: z.object({ width: Shown.width, height: Shown.height, dpi: Shown.dpi }),
});
