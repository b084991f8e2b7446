import { once } from "node:events";
import { chmod, chown, open, rm } from "node:fs/promises";
import net from "node:net";
import path from "node:path";
import type { Duplex } from "node:stream";
import { ToolyardError } from "../../../core/errors.ts";
import { type ConfinedProcess, lastLine, runConfined, startConfined } from "./confined-process.ts";
import { GuestAgent } from "./guest-agent.ts";
import {
  type Accelerator,
  CONSOLE_BUFFER,
  MACHINE_FILES,
  type MachineSize,
  QEMU,
  toMachineArguments,
} from "./machine-arguments.ts";
import type { QemuConfig } from "./qemu-config.ts";
import { QmpClient, untilAborted } from "./qmp-client.ts";

const QCOW2 = Buffer.from("QFI\u00fb", "latin1");
const CONSOLE_BYTES = 2_000;

/** What a machine is started from. */
export interface MachineSpec {
  readonly config: QemuConfig;
  readonly accelerator: Accelerator;
  readonly size: MachineSize;
  /** What its disk may grow to on the host. */
  readonly diskBytes: number;
}

/** A virtual machine that runs on the disk of its folder. */
export class Machine {
  readonly qmp: QmpClient;
  readonly agent: GuestAgent | undefined;
  /** Settles when it is over, with why. */
  readonly ended: Promise<string>;
  readonly #folder: string;
  readonly #process: ConfinedProcess;

  private constructor(folder: string, running: ConfinedProcess, qmp: QmpClient, agent: GuestAgent | undefined) {
    this.#folder = folder;
    this.#process = running;
    this.qmp = qmp;
    this.agent = agent;
    this.ended = running.ended;
  }

  /**
   * Starts a machine in a folder that has its disk; the guest may be at its very start.
   *
   * @throws ToolyardError `dependency_failed` with what qemu complains about; the signal's reason. No process is left behind then.
   */
  static start(folder: string, spec: MachineSpec, signal: AbortSignal): Promise<Machine> {
    return startIn(folder, spec, signal, (running, qmp, agent) => new Machine(folder, running, qmp, agent));
  }

  /** A new connection to the machine's VNC server, which speaks first. */
  async connect(signal: AbortSignal): Promise<Duplex> {
    const socket = net.connect(path.join(this.#folder, MACHINE_FILES.vnc));
    try {
      await once(socket, "connect", { signal });
      return socket;
    } catch (cause) {
      socket.destroy();
      signal.throwIfAborted();
      throw new ToolyardError("dependency_failed", "the machine's display cannot be reached", { cause });
    }
  }

  /** The end of what the guest said on its serial port. */
  async console(signal: AbortSignal): Promise<string> {
    const args = { device: CONSOLE_BUFFER, size: 65_536 };
    const said = await this.qmp.execute("ringbuf-read", args, signal).catch(() => "");
    return String(said).slice(-CONSOLE_BYTES);
  }

  /** Takes its power away. Idempotent. */
  async kill(): Promise<void> {
    this.#process.child.kill("SIGKILL");
    await this.ended;
    this.agent?.close();
    this.qmp.close();
  }
}

/** Makes a disk over an image, in the folder of a machine. Throws as `runConfined` does. */
export async function makeDisk(folder: string, image: string, runAs: number, signal: AbortSignal): Promise<void> {
  const overlay = ["-f", "qcow2", "-F", await readImageFormat(image), "-b", image, MACHINE_FILES.overlay];
  await runConfined(["qemu-img", "create", "-q", ...overlay], { runAs, cwd: folder }, signal);
}

/** By the file's own first bytes, which no guest has written: nothing writes to it. */
async function readImageFormat(image: string): Promise<"qcow2" | "raw"> {
  const file = await open(image, "r");
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.equals(QCOW2) ? "qcow2" : "raw";
  } finally {
    await file.close();
  }
}

type Make = (running: ConfinedProcess, qmp: QmpClient, agent: GuestAgent | undefined) => Machine;

async function startIn(folder: string, spec: MachineSpec, signal: AbortSignal, make: Make): Promise<Machine> {
  const { config, accelerator, size } = spec;
  const confinement = { runAs: config.run_as, cwd: folder };
  await Promise.all(
    [MACHINE_FILES.qmp, MACHINE_FILES.agent, MACHINE_FILES.vnc].map((it) => rm(path.join(folder, it), { force: true })),
  );
  const qmpDoor = await awaitConnection(path.join(folder, MACHINE_FILES.qmp), config.run_as);
  const agentDoor = config.guest_agent
    ? await awaitConnection(path.join(folder, MACHINE_FILES.agent), config.run_as)
    : undefined;
  let running: ConfinedProcess | undefined;
  try {
    const command = [QEMU, ...toMachineArguments(config, accelerator, size)];
    running = await startConfined(command, { ...confinement, fileBytes: spec.diskBytes });
    const early = running.ended.then((how): never => {
      throw toStartFailure(running, how);
    });
    const doors = Promise.all([qmpDoor.connected, agentDoor?.connected]);
    const [control, port] = await untilAborted(Promise.race([doors, early]), signal);
    const qmp = await untilAborted(Promise.race([QmpClient.open(control, signal), early]), signal);
    early.catch(() => {});
    return make(running, qmp, port === undefined ? undefined : new GuestAgent(port));
  } catch (error) {
    running?.child.kill("SIGKILL");
    const how = await running?.ended;
    // Its connection may end a moment before it does.
    if (running === undefined || how === undefined || !ToolyardError.is(error) || error.error !== "sandbox_dead")
      throw error;
    throw toStartFailure(running, how);
  } finally {
    qmpDoor.close();
    agentDoor?.close();
  }
}

function toStartFailure(running: ConfinedProcess | undefined, how: string): ToolyardError {
  const complaint = running?.complaint() ?? "";
  const why = complaint === "" ? how : lastLine(complaint);
  return new ToolyardError("dependency_failed", `the virtual machine does not start: ${why}`);
}

/** Listens for the one connection that qemu makes. */
async function awaitConnection(socketPath: string, runAs: number) {
  const server = net.createServer();
  const { promise: connected, resolve } = Promise.withResolvers<net.Socket>();
  server.once("connection", (socket) => {
    resolve(socket);
    server.close();
  });
  server.listen(socketPath);
  await once(server, "listening");
  if (process.getuid?.() === 0) await chown(socketPath, runAs, runAs);
  await chmod(socketPath, 0o600);
  return { connected, close: () => void server.close() };
}
