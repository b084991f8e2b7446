import type { Clock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import type { DesktopAgent } from "../desktop-agent/desktop-agent.ts";
import { openAgent } from "../desktop-agent/open-agent.ts";
import type { ActionDriver } from "../actions/action-driver.ts";
import { Operator, type OperatorOptions } from "../actions/operator.ts";
import { onUsKeyboard } from "../keys/us-keyboard.ts";
import type { DisplayConnection } from "../rfb/display-connection.ts";
import { setDesktopSize } from "../rfb/set-desktop-size.ts";
import type { Size } from "../screen/view.ts";
import { sleep } from "./clock-sleep.ts";
import { abilityOf } from "./desktop-ability.ts";
import type { DesktopProvider, DesktopSize, DesktopSpec, RunningDesktop } from "./provider.ts";
import { look, openDesktop, type ReadyDesktop } from "./ready-desktop.ts";

/** How a desktop is worked with. */
export interface DesktopOptions extends OperatorOptions {
  /** Told when the desktop's agent died, before it is started again: why, and what it complained of. */
  readonly onAgentDeath?: (reason: string, complaint: string) => void;
  readonly clock: Clock;
}

/** A desktop that is ready: it shows something, and actions can be done at it. */
export class Desktop {
  readonly running: RunningDesktop;
  readonly operator: Operator;
  readonly #clock: Clock;
  #size: DesktopSize;
  #connection: DisplayConnection;
  readonly #agent: DesktopAgent | undefined;
  #isHalted = false;

  /** @param size with which its display is started again. */
  constructor(
    { running, connection }: ReadyDesktop,
    size: DesktopSize,
    { clock, onAgentDeath, ...options }: DesktopOptions,
  ) {
    this.running = running;
    this.#connection = connection;
    this.#clock = clock;
    this.#size = size;
    this.#agent = openAgent(running, clock, onAgentDeath);
    this.operator = new Operator(this.#toDriver(), options);
  }

  /** Starts a desktop and waits until it is ready; throws as `openDesktop` does. */
  static async open(
    provider: DesktopProvider,
    spec: DesktopSpec,
    options: DesktopOptions,
    signal: AbortSignal,
  ): Promise<Desktop> {
    return new Desktop(await openDesktop(provider, spec, options.clock, signal), spec, options);
  }

  /** What looks at its screen now; another one after each start of its display. */
  get connection(): DisplayConnection {
    return this.#connection;
  }

  /** With which its display was started. */
  get size(): DesktopSize {
    return this.#size;
  }

  /** Ends its display; actions are then refused with `conflict` until it is started. */
  async halt(): Promise<void> {
    this.#isHalted = true;
    this.#connection.close();
    await this.running.halt();
  }

  /** Starts its display, after `halt` say, and waits until it shows something; throws as `openDesktop` does. */
  async start(signal: AbortSignal, size: DesktopSize = this.#size): Promise<void> {
    await this.running.start(size, signal);
    this.#size = size;
    this.#connection.close();
    this.#connection = await look(this.running, this.#clock, signal);
    this.operator.hands.forget();
    this.#isHalted = false;
  }

  /** Gives its screen another size, which its display also keeps when it is started again; throws as `setDesktopSize` does. */
  async resize({ width, height }: Size, signal: AbortSignal): Promise<void> {
    await setDesktopSize(await this.running.connectDisplay(signal), { width, height }, signal);
    this.#size = { ...this.#size, width, height };
    // oxlint-disable-next-line no-await-in-loop -- what looks at it is told a little later
    while (this.#connection.width !== width || this.#connection.height !== height) await this.operator.flush(signal);
  }

  /** Ends everything in it, wipes its files, and starts its display anew, as that of a fresh one of a size. */
  async wipe(signal: AbortSignal, { width, height, dpi }: DesktopSize = this.#size): Promise<void> {
    this.#connection.close();
    await this.running.wipe(signal);
    await this.start(signal, { width, height, dpi });
    this.operator.showAsUsual();
  }

  /**
   * Brings it back to a moment that was kept, and shows it.
   *
   * @throws ToolyardError `runtime_unavailable` where none can be kept; `unknown_name`; as `openDesktop` does.
   */
  async restore(name: string, signal: AbortSignal): Promise<void> {
    const snapshots = abilityOf(this.running, "snapshots");
    if (!snapshots.names.includes(name)) {
      throw new ToolyardError("unknown_name", `the desktop has no snapshot "${name}"`, {
        details: { snapshots: snapshots.names },
        suggestion: "vm:snapshots lists them.",
      });
    }
    this.#connection.close();
    await snapshots.restore(name, signal);
    await this.start(signal);
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#connection.close();
    await this.#agent?.close();
    await this.running.stop();
  }

  #toDriver(): ActionDriver {
    // Asked anew each time, since its display may have been started again.
    const now = () => this.#connection;
    const shown = () => {
      if (!this.#isHalted) return this.#connection;
      throw new ToolyardError("conflict", "the desktop is stopped", { suggestion: "Start it with vm:start." });
    };
    const clock = this.#clock;
    const { running } = this;
    const { spawn } = running;
    const press = (keysym: number, down: boolean) => shown().key(keysym, down);
    const isMachine = running.screen === "machine";
    return {
      ...(isMachine ? { spareKeys: 0 } : { freeKeys: (signal) => freeKeys(running, signal) }),
      agent: this.#agent,
      run: (command, signal) => running.exec(command, signal),
      ...(spawn !== undefined && { launch: (command, signal) => spawn.call(running, command, signal) }),
      get size() {
        return { width: now().width, height: now().height };
      },
      get position() {
        return now().position;
      },
      get cursor() {
        return now().cursor;
      },
      pointer: (x, y, buttons) => shown().pointer(x, y, buttons),
      key: isMachine ? onUsKeyboard(press) : press,
      capture: async (signal, part) => shown().capture(signal, part),
      nextChange: async (signal) => shown().nextChange(signal),
      sleep: (ms, signal) => sleep(clock, ms, signal),
      now: () => clock.now(),
    };
  }
}

async function freeKeys(running: RunningDesktop, signal: AbortSignal): Promise<void> {
  // A layout that is set anew has its spare keys free again.
  const command = ["setxkbmap", "-layout", "us"];
  const { exitCode, stderr } = await running.exec({ command, timeoutMs: 5_000 }, signal);
  if (exitCode === 0) return;
  throw new ToolyardError("dependency_failed", "the desktop's keymap cannot be set: setxkbmap failed", {
    details: { stderr: stderr.text.slice(0, 400) },
  });
}
