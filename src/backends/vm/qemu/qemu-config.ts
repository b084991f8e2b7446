import { z } from "zod";

const AbsolutePath = z.string().startsWith("/", "An absolute path.").max(4_096);

/** The `qemu` key of a vm backend's config: what its virtual machines are. */
export const QemuConfig = z.strictObject({
  image: AbsolutePath.describe("The disk that machines start from, qcow2 or raw; nothing writes to it."),
  images: z.record(z.string().min(1).max(256), AbsolutePath).default({}).describe("Others, for sessions to name."),
  accelerator: z.enum(["auto", "kvm", "tcg"]).default("auto"),
  boot_timeout_ms: z.int().min(1_000).max(3_600_000).default(55_000),
  machine: z.enum(["q35", "pc"]).default("q35"),
  disk_interface: z.enum(["virtio", "ide"]).default("virtio"),
  firmware: AbsolutePath.optional().describe("Instead of the BIOS, an OVMF.fd say."),
  kernel: AbsolutePath.optional().describe("Booted directly, without the disk's own loader."),
  initrd: AbsolutePath.optional(),
  kernel_arguments: z.string().max(2_000).optional(),
  network: z.enum(["none", "restricted"]).default("none").describe("`restricted` is a link that leads nowhere."),
  guest_agent: z.boolean().default(true).describe("Whether qemu-guest-agent runs in the image."),
  guest_user: z.string().min(1).max(32).optional().describe("Who runs commands and owns files there; root by default."),
  guest_cwd: AbsolutePath.default("/"),
  guest_environment: z.record(z.string(), z.string()).default({ DISPLAY: ":0" }),
  snapshot: z
    .string()
    .regex(/^[A-Za-z][\w.-]{0,63}$/)
    .optional()
    .describe("Kept under this name of a machine that is ready, memory and disk; a reset goes back to it."),
  run_as: z.int().min(0).max(4_294_967_294).default(65_534).describe("The user of qemu where the server is root."),
  folder: AbsolutePath.optional().describe("Where machines have their overlays and sockets."),
  arguments: z.array(z.string().max(4_096)).max(64).default([]).describe("More of qemu's own, put last."),
});
export type QemuConfig = z.infer<typeof QemuConfig>;
