import { z } from "zod";
import { coveredBy, NetworkHost } from "../../core/network-hosts.ts";
import { ISOLATION_LEVELS, type NetworkPolicy, type SandboxSpec } from "../../core/runtime.ts";
import type { BrowserSessionOptions } from "./session.ts";

const Limit = (maximum: number) => z.int().min(1).max(maximum);
const Image = z.string().min(1).max(256);

/** What pages may be loaded from: nothing, every public host on the ports 80 and 443, or the hosts of a list. */
const Network = z.union([z.enum(["none", "public"]), z.strictObject({ allow: z.array(NetworkHost).max(256) })]);
type Network = z.infer<typeof Network>;

const Shown = {
  width: z.int().min(200).max(4_096),
  height: z.int().min(200).max(4_096),
  user_agent: z.string().max(512),
  locale: z.string().regex(/^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$/),
  timezone: z.string().regex(/^[A-Za-z0-9_+/-]{1,64}$/),
};

/** The `config` of a browser backend's entry. */
export const BrowserConfig = z.strictObject({
  runtime: z
    .string()
    .max(64)
    .default("auto")
    .describe("Where browsers run: a runtime's name, or auto for the first that can hold one."),
  min_isolation: z.enum(ISOLATION_LEVELS).optional(),
  image: Image.default("toolyard/desktop").describe("Of containers; it must have Chromium."),
  network: Network.default("public").describe("What pages are loaded from: none, public, or a list of hosts."),
  memory_mib: Limit(1 << 20).default(2_048),
  pids: Limit(1 << 16).default(512),
  disk_mib: Limit(1 << 20).default(1_024),
  cpus: z.number().min(0.01).max(1_024).default(2),
  width: Shown.width.default(1_280),
  height: Shown.height.default(800),
  user_agent: Shown.user_agent.optional().describe("Chromium's own by default."),
  locale: Shown.locale.default("en-US"),
  timezone: Shown.timezone.optional(),
  max_tabs: Limit(256).default(16),
  timeout_ms: Limit(600_000).default(30_000).describe("What a step may take when its call does not say."),
  pool: z
    .strictObject({
      min: z.int().min(0).max(256).default(1).describe("Browsers of the config's own kind that are held ready."),
      parallel: Limit(64).default(2).describe("Started at once."),
    })
    .optional(),
});
export type BrowserConfig = z.infer<typeof BrowserConfig>;

/** Builds the schema of what a session may set: a network within the config's, and how pages are shown. */
export function createSessionSchema({ network: own }: BrowserConfig) {
  return z.strictObject({
    network: Network.refine((network) => isWithin(network, own), {
      error: "the server's config does not let pages be loaded from all of this",
    }).optional(),
    width: Shown.width.optional(),
    height: Shown.height.optional(),
    user_agent: Shown.user_agent.optional(),
    locale: Shown.locale.optional(),
    timezone: Shown.timezone.optional(),
  });
}
export type BrowserSessionConfig = z.infer<ReturnType<typeof createSessionSchema>>;

function isWithin(wanted: Network, own: Network): boolean {
  if (wanted === "none" || wanted === own) return true;
  if (wanted === "public" || own === "none") return false;
  // A port beside 80 and 443 is none of the public web's.
  if (own === "public") return wanted.allow.every((host) => !/:(?!80$|443$)\d+$/.test(host));
  return wanted.allow.every((host) => coveredBy(host, own.allow));
}

/** A browser as a session wants it. */
export interface BrowserSpec {
  readonly sandbox: SandboxSpec;
  readonly options: BrowserSessionOptions;
}

/** What a session's config makes of the server's. */
export function toBrowserSpec(config: BrowserConfig, session: BrowserSessionConfig): BrowserSpec {
  return {
    sandbox: toSandboxSpec(config, session),
    options: {
      width: session.width ?? config.width,
      height: session.height ?? config.height,
      userAgent: session.user_agent ?? config.user_agent,
      locale: session.locale ?? config.locale,
      timezone: session.timezone ?? config.timezone,
      maxTabs: config.max_tabs,
      timeoutMs: config.timeout_ms,
    },
  };
}

function toSandboxSpec(config: BrowserConfig, session: BrowserSessionConfig): SandboxSpec {
  const network = session.network ?? config.network;
  const policy: NetworkPolicy = network === "public" ? { allow: ["*"] } : network;
  return {
    limits: { memoryMiB: config.memory_mib, pids: config.pids, diskMiB: config.disk_mib, cpus: config.cpus },
    ...(policy !== "none" && { network: policy }),
  };
}
