import type { Duplex } from "node:stream";
import type { ToolyardError } from "./errors.ts";

/** The desktop behind a session, as the engine and the server's other doors see it. */
export interface SessionDesktop {
  /**
   * Opens a connection of its own to the display's RFB server, which speaks first and asks for no password.
   *
   * @throws ToolyardError `dependency_failed` when it does not answer; the signal's reason.
   */
  connectDisplay(signal: AbortSignal): Promise<Duplex>;
  /**
   * Ends what its agent's input is in the middle of, with this reason, and lets go of the keys and buttons that it holds, for a
   * human who takes over; never throws.
   */
  releaseInput(reason: ToolyardError): void;
  /** A screenshot that was asked for as a link, as long as it is one of the latest. */
  picture?(id: string): KeptPicture | undefined;
}

/** A screenshot that waits to be fetched. */
export interface KeptPicture {
  readonly format: "png" | "jpeg" | "webp";
  readonly bytes: Uint8Array;
}

/** Where the server gives a screenshot away that was asked for as a link. */
export function toPicturePath(sessionId: string, pictureId: string): string {
  return `/api/v1/sandbox/${encodeURIComponent(sessionId)}/desktop/screenshots/${pictureId}`;
}

/** What somebody did at a display, counted; never what it was. */
export interface InputCounts {
  readonly keys: number;
  readonly clicks: number;
  readonly scrolls: number;
  readonly moves: number;
  /** Texts that were put into its clipboard. */
  readonly clipboard: number;
  /** Times that it was given another size. */
  readonly resizes: number;
}

/** How a way in to a stream is asked for. */
export interface StreamRequest {
  /** @default true */
  readonly viewOnly?: boolean | undefined;
  /** How long it may take until somebody comes with the ticket, which opens once. */
  readonly ttlMs?: number | undefined;
  /** Whether whoever comes may give the display another size. */
  readonly resize?: boolean | undefined;
}

/** A way in to watch a session's desktop, for one viewer. */
export interface StreamUrl {
  /** Absolute, with the ticket: a WebSocket that speaks RFB. */
  readonly url: string;
  /** The same without the server's own address. */
  readonly path: string;
  readonly ticket: string;
  readonly viewOnly: boolean;
  readonly expiresAt: Date;
}

/** What the tools of a session with a desktop may give away. */
export interface SessionStreams {
  /** How many watch the desktop now. */
  readonly viewers: number;
  /** @throws ToolyardError `runtime_unavailable` where nothing serves it; `overloaded` when too many tickets wait. */
  open(request: StreamRequest): StreamUrl;
}
