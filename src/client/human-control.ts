import { ServerError } from "./errors/server-error.ts";
import { askSandbox } from "./session-door.ts";
import type { FindSession } from "./session-files.ts";

/** Who has control of a session; times are ISO 8601. */
export interface ControlState {
  readonly taken: boolean;
  readonly holder?: string;
  readonly since?: string;
  readonly expires_at?: string;
}

/** How control is asked for. */
export interface ControlRequest {
  /** Shown to who is refused. @default "A human" */
  readonly holder?: string | undefined;
  /** Milliseconds without an input of the holder's until it runs out. @default the server's, five minutes */
  readonly ttlMs?: number | undefined;
  /** Takes it from another human. @default false */
  readonly force?: boolean | undefined;
}

/** Control that was taken: input of all others is refused until it ends. */
export interface HeldControl extends AsyncDisposable {
  /** Goes with the holder's own input: as `controlLease` of a desktop's URL, as `control_lease` of a call. */
  readonly lease: string;
  readonly holder: string;
  /** ISO 8601. */
  readonly expires_at: string;
  /** Keeps it longer. */
  renew(ttlMs?: number): Promise<HeldControl>;
  /** Gives it back; answers whether there was any to give. */
  release(): Promise<boolean>;
}

/** Control of a session's desktop and terminals, by a human. */
export class HumanControl {
  readonly #find: FindSession;

  constructor(find: FindSession) {
    this.#find = find;
  }

  async status(): Promise<ControlState> {
    return askSandbox<ControlState>(this.#find, "/control", { method: "GET" });
  }

  /**
   * Takes control: from then on an agent's input is refused with `control_taken`, not queued.
   *
   * @throws ServerError `control_taken` when another human has it.
   */
  async take({ holder, ttlMs, force }: ControlRequest = {}): Promise<HeldControl> {
    return this.#take({ holder, ttl_ms: ttlMs, force });
  }

  async #take(body: object): Promise<HeldControl> {
    const held = await askSandbox<Pick<HeldControl, "lease" | "holder" | "expires_at">>(this.#find, "/control/take", {
      method: "POST",
      body,
    });
    const { lease, holder } = held;
    const release = async (): Promise<boolean> => {
      const rest = "/control/release";
      const answer = await askSandbox<{ readonly released: boolean }>(this.#find, rest, {
        method: "POST",
        body: { lease },
      });
      return answer.released;
    };
    return {
      ...held,
      release,
      renew: (ttlMs) => this.#take({ lease, holder, ttl_ms: ttlMs }),
      async [Symbol.asyncDispose]() {
        // Somebody else's by now, or nobody's session: there is nothing to give back.
        await release().catch((error: unknown) => {
          if (!(error instanceof ServerError)) throw error;
        });
      },
    };
  }
}
