import type { Size } from "../screen/view.ts";
import type { QemuConfig } from "./qemu-config.ts";

/** How a machine's processor is had: the host's own, or an emulated one. */
export type Accelerator = "kvm" | "tcg";

export const QEMU = "qemu-system-x86_64";
/** The port that qemu-guest-agent looks for in a guest. */
const AGENT_PORT = "org.qemu.guest_agent.0";
/** The node of the block layer that snapshots are kept in. */
export const DISK_NODE = "disk";
/** What a machine's folder has; short, and relative to it, since the path of a socket has room for 107 bytes. */
export const MACHINE_FILES = { overlay: "disk.qcow2", qmp: "qmp.sock", agent: "agent.sock", vnc: "vnc.sock" } as const;

/** What a machine has. */
export interface MachineSize extends Size {
  readonly memoryMiB: number;
  readonly cpus: number;
}

/** What a qemu-system-x86_64 that runs in the machine's folder is started with. */
export function toMachineArguments(config: QemuConfig, accelerator: Accelerator, size: MachineSize): string[] {
  const { width, height, memoryMiB, cpus } = size;
  return [
    // Nothing but what is named here: no default devices, no files of the host's configuration.
    ...["-nodefaults", "-no-user-config", "-name", "toolyard"],
    ...SECCOMP,
    ...["-machine", `${config.machine},accel=${accelerator}`, "-cpu", accelerator === "kvm" ? "host" : "max"],
    ...["-m", `${memoryMiB}M`, "-smp", String(cpus)],
    ...toDisk(config),
    ...toBoot(config),
    ...["-device", `VGA,edid=on,xres=${width},yres=${height},vgamem_mb=64`],
    ...["-vnc", `unix:${MACHINE_FILES.vnc},share=force-shared,lock-key-sync=off`],
    // Points of the screen, where a mouse would only have movements.
    ...["-device", "qemu-xhci", "-device", "usb-tablet"],
    ...["-device", "virtio-rng-pci"],
    ...toNetwork(config),
    // The connection is qemu's to make, so that nobody polls for a socket.
    ...["-chardev", `socket,id=qmp,path=${MACHINE_FILES.qmp}`, "-mon", "chardev=qmp,mode=control"],
    // What the guest says on its serial port, for whoever asks why it does not start.
    ...["-chardev", `ringbuf,id=${CONSOLE_BUFFER},size=65536`, "-serial", `chardev:${CONSOLE_BUFFER}`],
    ...(config.guest_agent ? toAgent() : []),
    ...config.arguments,
  ];
}

/** The buffer that holds the end of what the guest's serial port said. */
export const CONSOLE_BUFFER = "console";

const SECCOMP = ["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"];

function toDisk({ disk_interface: kind }: QemuConfig): string[] {
  const file = `file.driver=file,file.filename=${MACHINE_FILES.overlay}`;
  const disk = ["-blockdev", `driver=qcow2,node-name=${DISK_NODE},discard=unmap,${file}`];
  return [...disk, "-device", kind === "ide" ? `ide-hd,drive=${DISK_NODE}` : `virtio-blk-pci,drive=${DISK_NODE}`];
}

function toBoot({ firmware, kernel, initrd, kernel_arguments: more }: QemuConfig): string[] {
  return [
    ...(firmware === undefined ? [] : ["-bios", firmware]),
    ...(kernel === undefined ? [] : ["-kernel", kernel]),
    ...(initrd === undefined ? [] : ["-initrd", initrd]),
    ...(kernel === undefined || more === undefined ? [] : ["-append", more]),
  ];
}

function toNetwork({ network }: QemuConfig): string[] {
  if (network === "none") return ["-nic", "none"];
  return ["-netdev", "user,id=net,restrict=on", "-device", "virtio-net-pci,netdev=net,romfile="];
}

function toAgent(): string[] {
  const port = `virtserialport,chardev=agent,name=${AGENT_PORT}`;
  return ["-chardev", `socket,id=agent,path=${MACHINE_FILES.agent}`, "-device", "virtio-serial", "-device", port];
}
