import { access } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { DesktopSpec } from "../../src/backends/vm/desktop/provider.ts";
import { QemuConfig } from "../../src/backends/vm/qemu/qemu-config.ts";

/** Where `images/vm-guest/build` puts the small guest, unless it is told another place. */
const FOLDER = path.join(tmpdir(), "toolyard-vm-guest");

/** A config with which the provider boots the small guest of `images/vm-guest`. */
export function vmGuestConfig(more: Partial<QemuConfig> = {}): QemuConfig {
  return QemuConfig.parse({
    image: path.join(FOLDER, "disk.qcow2"),
    kernel: path.join(FOLDER, "vmlinux"),
    initrd: path.join(FOLDER, "initrd"),
    kernel_arguments: "console=ttyS0 quiet panic=-1 no_timer_check mitigations=off",
    guest_cwd: "/workspace",
    guest_environment: {},
    // Emulated, it takes a busy machine a minute.
    boot_timeout_ms: 110_000,
    ...more,
  });
}

/** Says why there is no such guest here. */
export async function lackingVmGuest(): Promise<string | undefined> {
  try {
    for (const name of ["disk.qcow2", "vmlinux", "initrd"]) {
      // oxlint-disable-next-line no-await-in-loop -- three of them
      await access(path.join(FOLDER, name));
    }
    return undefined;
  } catch {
    return `there is no guest in ${FOLDER}: images/vm-guest/build makes it`;
  }
}

/** A small machine with a small screen. */
export const SMALL_MACHINE: DesktopSpec = {
  width: 640,
  height: 480,
  dpi: 96,
  sandbox: { sessionId: "s", workerId: "w", limits: { memoryMiB: 192, cpus: 1, diskMiB: 512 } },
};
