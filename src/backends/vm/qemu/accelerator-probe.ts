import { chmod, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { lastLine, startConfined } from "./confined-process.ts";
import { type Accelerator, QEMU } from "./machine-arguments.ts";
import { makeMachineFolder } from "./machine-folder.ts";

/** The exit code that the boot sector asks for, as the debugging device turns it: twice and one. */
const ASKED = 0x10;
const EXPECTED = ASKED * 2 + 1;
/** An emulated processor boots it in 0.4 s on an idle machine. */
const EMULATED_BOOT_MS = 30_000;
/** KVM boots it in 0.3 s where it has a processor for guests. A KVM that emulates most of one takes 12 s, and boots no system in minutes. */
const AS_SLOW_AS_EMULATED = 3;
const SLACK_MS = 1_000;

/**
 * Says why KVM does not work, or nothing when it does: a machine with it boots a sector about as fast as an emulated one does in the same
 * minute. That the device is there and answers says little, since a hypervisor below may leave guests with a tenth of a processor.
 */
export async function probeKvm(machines: string, runAs: number): Promise<string | undefined> {
  const folder = await makeMachineFolder(machines, runAs);
  try {
    const file = path.join(folder, "boot.img");
    await writeFile(file, toBootSector());
    await chmod(file, 0o666);
    const emulated = await boot("tcg", { folder, runAs, maxMs: EMULATED_BOOT_MS });
    if (typeof emulated === "string") return `not tried, since an emulated machine does not boot either: ${emulated}`;
    const maxMs = Math.ceil(emulated * AS_SLOW_AS_EMULATED + SLACK_MS);
    const real = await boot("kvm", { folder, runAs, maxMs });
    return typeof real === "string" ? real : undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** How long a machine takes to boot its sector, in milliseconds, or why it does not. */
async function boot(
  accelerator: Accelerator,
  { folder, runAs, maxMs }: { readonly folder: string; readonly runAs: number; readonly maxMs: number },
): Promise<number | string> {
  const machine = ["-nodefaults", "-no-user-config", "-display", "none", "-nic", "none", "-m", "64M"];
  const cpu = accelerator === "kvm" ? "host" : "max";
  const doors = ["-machine", `pc,accel=${accelerator}`, "-cpu", cpu, "-device", "isa-debug-exit,iobase=0xf4,iosize=4"];
  const disk = ["-drive", "file=boot.img,format=raw,if=ide"];
  const startedAt = performance.now();
  const { child, ended, complaint } = await startConfined([QEMU, ...machine, ...doors, ...disk], {
    runAs,
    cwd: folder,
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), maxMs);
  const how = await ended;
  clearTimeout(timer);
  if (child.exitCode === EXPECTED) return performance.now() - startedAt;
  if (child.signalCode === "SIGKILL") return `a machine with ${accelerator} does not boot within ${maxMs} ms here`;
  return complaint() === "" ? how : lastLine(complaint());
}

/** `mov al, 0x10; out 0xf4, al; hlt`, in the 512 bytes that a BIOS loads and runs. */
function toBootSector(): Buffer {
  const sector = Buffer.alloc(512);
  sector.set([0xb0, ASKED, 0xe6, 0xf4, 0xf4]);
  sector.set([0x55, 0xaa], 510);
  return sector;
}
