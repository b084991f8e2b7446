import type { Clock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import type { DesktopAgent } from "../desktop-agent/desktop-agent.ts";
import { openAgent } from "../desktop-agent/open-agent.ts";
import type { ActionDriver } from "../actions/action-driver.ts";
import { Operator, type OperatorOptions } from "../actions/operator.ts";
import type { DisplayConnection } from "../rfb/display-connection.ts";
import { sleep } from "./clock-sleep.ts";
import type { DesktopProvider, DesktopSize, DesktopSpec, RunningDesktop } from "./provider.ts";
import { look, openDesktop, type ReadyDesktop } from "./ready-desktop.ts";

/** How a desktop is worked with. */
export interface DesktopOptions extends OperatorOptions {
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

  /** @param size with which its display is started again. */
  constructor({ running, connection }: ReadyDesktop, size: DesktopSize, { clock, ...options }: DesktopOptions) {
    this.running = running;
    this.#connection = connection;
    this.#clock = clock;
    this.#size = size;
    this.#agent = openAgent(running, clock);
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

  /** Ends its display; actions then fail with `sandbox_dead` until it is started. */
  async halt(): Promise<void> {
    this.#connection.close();
    await this.running.halt();
  }

  /** Starts its display, after `halt` say, and waits until it shows something; throws as `openDesktop` does. */
  async start(signal: AbortSignal, size: DesktopSize = this.#size): Promise<void> {
    await this.running.start(size, signal);
    this.#size = size;
    this.#connection.close();
    this.#connection = await look(this.running, this.#clock, signal);
  }

  /** Ends everything in it, wipes its files, and starts its display anew, as that of a fresh one. */
  async wipe(signal: AbortSignal): Promise<void> {
    this.#connection.close();
    await this.running.wipe(signal);
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
    const clock = this.#clock;
    const { running } = this;
    const { spawn } = running;
    return {
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
      pointer: (x, y, buttons) => now().pointer(x, y, buttons),
      key: (keysym, down) => now().key(keysym, down),
      capture: (signal, part) => now().capture(signal, part),
      nextChange: (signal) => now().nextChange(signal),
      sleep: (ms, signal) => sleep(clock, ms, signal),
      now: () => clock.now(),
      freeKeys: (signal) => freeKeys(running, signal),
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
