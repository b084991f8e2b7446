/** A way in to one port of a session's sandbox, for whoever holds its ticket, until it ends. */
export interface ExposedPort {
  /** Names it in listings; opens nothing. */
  readonly id: string;
  readonly port: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** A way in at its birth: the only time that its ticket is told. */
export interface NewExposedPort extends ExposedPort {
  /** Absolute and with the ticket; opens in a browser, and for any HTTP or WebSocket client. */
  readonly url: string;
  readonly ticket: string;
}

/** The ports of the session that a call runs in, as its tool may open them to the outside. */
export interface SessionPorts {
  /**
   * Opens a way in to a port that something in the sandbox listens on, now or later.
   *
   * @throws ToolyardError `invalid_input` for what is no port; `runtime_unavailable` when the sandbox cannot be connected to;
   * `limit_exceeded` when the session has too many ways in; `session_not_found` when it has ended.
   */
  expose(port: number, options?: { readonly ttlMs?: number | undefined }): NewExposedPort;
  /** Closes every way in to a port, and what is connected through them; answers how many there were. */
  unexpose(port: number): number;
  /** Those that are open, oldest first. */
  list(): readonly ExposedPort[];
}
