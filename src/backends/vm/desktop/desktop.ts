import type { Clock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import type { ActionDriver } from "../actions/action-driver.ts";
import { Operator, type OperatorOptions } from "../actions/operator.ts";
import { settle } from "../actions/settle.ts";
import { DisplayConnection } from "../rfb/display-connection.ts";
import { isBlank } from "../screen/picture.ts";
import type { DesktopProvider, DesktopSpec, RunningDesktop } from "./provider.ts";

const FIRST_QUIET = { quietMs: 200, maxMs: 3_000 };

/** A desktop that is ready: it shows something, and actions can be done at it. */
export class Desktop {
  readonly running: RunningDesktop;
  readonly operator: Operator;
  readonly #connection: DisplayConnection;

  private constructor(running: RunningDesktop, connection: DisplayConnection, operator: Operator) {
    this.running = running;
    this.#connection = connection;
    this.operator = operator;
  }

  /**
   * Starts a desktop and waits until its screen shows more than one colour and is quiet.
   *
   * @throws ToolyardError `dependency_failed` when it does not come up; the signal's reason. Nothing is left behind then.
   */
  static async open(
    provider: DesktopProvider,
    spec: DesktopSpec,
    { clock, ...options }: OperatorOptions & { readonly clock: Clock },
    signal: AbortSignal,
  ): Promise<Desktop> {
    const running = await provider.start(spec, signal);
    try {
      const connection = await DisplayConnection.open(await running.connectDisplay(signal), signal);
      const driver = toDriver(connection, running, clock);
      await firstPicture(driver, signal);
      return new Desktop(running, connection, new Operator(driver, options));
    } catch (error) {
      await running.stop();
      throw error;
    }
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#connection.close();
    await this.running.stop();
  }
}

async function firstPicture(driver: ActionDriver, signal: AbortSignal): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- until there is something to see
  while (isBlank(await driver.capture(signal))) await driver.nextChange(signal);
  await settle(driver, FIRST_QUIET, signal);
}

function toDriver(connection: DisplayConnection, running: RunningDesktop, clock: Clock): ActionDriver {
  return {
    get size() {
      return { width: connection.width, height: connection.height };
    },
    get position() {
      return connection.position;
    },
    get cursor() {
      return connection.cursor;
    },
    pointer: (x, y, buttons) => connection.pointer(x, y, buttons),
    key: (keysym, down) => connection.key(keysym, down),
    capture: (signal, part) => connection.capture(signal, part),
    nextChange: (signal) => connection.nextChange(signal),
    sleep: (ms, signal) => sleep(clock, ms, signal),
    now: () => clock.now(),
    freeKeys: async (signal) => {
      // A layout that is set anew has its spare keys free again.
      const { exitCode, stderr } = await running.exec(
        { command: ["setxkbmap", "-layout", "us"], timeoutMs: 5_000 },
        signal,
      );
      if (exitCode === 0) return;
      throw new ToolyardError("dependency_failed", "the desktop's keymap cannot be set: setxkbmap failed", {
        details: { stderr: stderr.text.slice(0, 400) },
      });
    },
  };
}

/** Waits on the clock; rejects with the signal's reason. */
export async function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (ms <= 0) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    cancel();
    signal.removeEventListener("abort", abort);
  }
}
