import { HumanControl } from "./human-control.ts";
import { askSandbox } from "./session-door.ts";
import type { FindSession } from "./session-files.ts";

/** A desktop as it is now. */
export interface DesktopState {
  readonly running: boolean;
  readonly sandbox_id: string;
  readonly display: string;
  /** `1280x800`. */
  readonly resolution: string;
  readonly width: number;
  readonly height: number;
  /** The path of its WebSocket; `null` while it is stopped. */
  readonly url: string | null;
  readonly port: number | null;
  readonly viewers: number;
  /** The human who has control; `null` while nobody has. */
  readonly controlled_by: string | null;
}

/** How a desktop is to be watched. */
export interface WatchOptions {
  /** @default "view" */
  readonly mode?: "view" | "control" | undefined;
  /** Milliseconds that the URL waits for its viewer. @default the server's, 30 seconds */
  readonly ttlMs?: number | undefined;
  /** Whether its viewer may give the screen another size. @default false */
  readonly resize?: boolean | undefined;
  /** Shows that its viewer is the human who has control. */
  readonly controlLease?: string | undefined;
}

/** Where one viewer watches a desktop. */
export interface WatchUrl {
  /** A WebSocket that speaks RFB (VNC), for noVNC say; opens once. */
  readonly url: string;
  /** ISO 8601. */
  readonly expires_at: string;
}

/** The desktop of a session, from outside its tools. */
export class SessionDesktop {
  /** Who works at it. */
  readonly control: HumanControl;
  readonly #find: FindSession;

  constructor(find: FindSession) {
    this.#find = find;
    this.control = new HumanControl(find);
  }

  async status(): Promise<DesktopState> {
    return askSandbox<DesktopState>(this.#find, "/desktop", { method: "GET" });
  }

  /** Starts its display if it is stopped, and waits until it shows something. */
  async start(size: { readonly width?: number; readonly height?: number } = {}): Promise<DesktopState> {
    return askSandbox<DesktopState>(this.#find, "/desktop/start", { method: "POST", body: size, repeatable: true });
  }

  /** Stops its display and every program on it; files stay. */
  async stop(): Promise<DesktopState> {
    return askSandbox<DesktopState>(this.#find, "/desktop/stop", { method: "POST", body: {}, repeatable: true });
  }

  /**
   * Makes a URL at which one viewer watches it live, or with `mode: "control"` works at it.
   *
   * @example
   * ```ts
   * const { url } = await sandbox.desktop.watch({ mode: "control", ttlMs: 60_000 });
   * ```
   */
  async watch({ mode, ttlMs, resize, controlLease }: WatchOptions = {}): Promise<WatchUrl> {
    const body = { mode, ttl_ms: ttlMs, resize };
    const made = await askSandbox<{ readonly path: string; readonly expires_at: string }>(
      this.#find,
      "/desktop/stream_url",
      { method: "POST", body },
    );
    const { transport } = await this.#find();
    const lease = controlLease === undefined ? "" : `&lease=${encodeURIComponent(controlLease)}`;
    // By the address that this client reaches the server at, which may be another than the server's own.
    const url = transport.baseUrl.replace(/^http/, "ws").replace(/\/$/, "") + made.path + lease;
    return { url, expires_at: made.expires_at };
  }
}
