/** The labels of the live sessions that have one, by session. */
export class SessionProjects {
  readonly #bySession = new Map<string, string>();

  of(sessionId: string | undefined): string | undefined {
    return sessionId === undefined || this.#bySession.size === 0 ? undefined : this.#bySession.get(sessionId);
  }

  set(sessionId: string, project: string | undefined): void {
    if (project !== undefined) this.#bySession.set(sessionId, project);
  }

  /** To be called when the session's last event has been told. */
  forget(sessionId: string): void {
    this.#bySession.delete(sessionId);
  }
}
