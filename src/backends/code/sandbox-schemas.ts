import { z } from "zod";
import { SANDBOX_ABILITIES } from "../../core/sandbox-ability.ts";

export const InfoResult = z.object({
  sandbox_id: z.string(),
  session_id: z.string(),
  runtime: z.string(),
  isolation: z.string(),
  image: z.string().nullable(),
  network: z.union([z.literal("none"), z.object({ allow: z.array(z.string()) })]),
  limits: z
    .object({
      memory_mib: z.number().nullable(),
      pids: z.number().nullable(),
      disk_mib: z.number().nullable(),
      cpus: z.number().nullable(),
    })
    .describe("What holds, defaults included; null is no bound."),
  folder: z.string().describe("Where relative paths start."),
  abilities: z.array(z.enum(SANDBOX_ABILITIES)),
  paused: z.boolean(),
  kernels: z.array(z.object({ name: z.string(), language: z.string(), busy: z.boolean() })),
});
export type InfoResult = z.infer<typeof InfoResult>;

export const PausedResult = z.object({ paused: z.boolean() });
export type PausedResult = z.infer<typeof PausedResult>;

const Port = z.int().min(1).max(65_535);

export const ExposeParams = z.strictObject({
  port: Port.describe("What something in the sandbox listens on, now or later."),
  ttl_ms: z.int().min(1000).optional().describe("How long the URL opens; the server's default and maximum apply."),
});
export const ExposeResult = z.object({
  id: z.string(),
  port: z.int(),
  url: z.string().describe("Opens in a browser and for HTTP and WebSocket clients; whoever has it may use it."),
  ticket: z.string(),
  expires_at: z.string(),
});
export type ExposeResult = z.infer<typeof ExposeResult>;

export const UnexposeParams = z.strictObject({ port: Port });
export const UnexposeResult = z.object({ port: z.int(), closed: z.int().describe("How many URLs opened it.") });
export type UnexposeResult = z.infer<typeof UnexposeResult>;

export const PortsResult = z.object({
  ports: z.array(z.object({ id: z.string(), port: z.int(), created_at: z.string(), expires_at: z.string() })),
});
export type PortsResult = z.infer<typeof PortsResult>;
