import { QemuDesktopProvider } from "../../src/backends/vm/qemu/qemu-provider.ts";
import { QemuConfig } from "../../src/backends/vm/qemu/qemu-config.ts";
import { SMALL_MACHINE } from "./vm-guest.ts";

const provider = new QemuDesktopProvider(QemuConfig.parse(JSON.parse(process.env["CRASH"] ?? "{}")));
await provider.start(SMALL_MACHINE, AbortSignal.timeout(60_000));
process.send?.("started");
setInterval(() => {}, 60_000);
