import type { ToolContext } from "../../core/context.ts";
import type { RunningDesktop } from "./desktop/provider.ts";
import type { Size } from "./screen/view.ts";

type Emit = ToolContext["emit"];

/** Tells the event log when a session's desktop starts and stops: each once, whoever did it, and also when it died by itself. */
export class DesktopNews {
  readonly #sessionId: string;
  readonly #emit: Emit;
  #current: RunningDesktop | undefined;

  /** @param emit the session's own, for what no call does. */
  constructor(sessionId: string, emit: Emit) {
    this.#sessionId = sessionId;
    this.#emit = emit;
  }

  /** Whether there is a desktop to be seen. */
  get isUp(): boolean {
    return this.#current !== undefined;
  }

  /** The path of its WebSocket. */
  get url(): string {
    return `/ws/vnc/${encodeURIComponent(this.#sessionId)}`;
  }

  /** @param emit that of the call that started it; the session's own by default. */
  started(running: RunningDesktop, { width, height }: Size, emit: Emit = this.#emit): void {
    this.#current = running;
    emit?.("desktop_started", {
      sandbox_id: this.sandboxId(running),
      url: this.url,
      display: running.display ?? "",
      resolution: `${width}x${height}`,
      port: null,
    });
    void running.ended.then(() => {
      if (this.#current === running) this.stopped("died");
    });
  }

  /** To be called before it is stopped; does nothing when none runs. */
  stopped(reason: "stopped" | "session_ended" | "died", emit: Emit = this.#emit): void {
    const running = this.#current;
    if (running === undefined) return;
    this.#current = undefined;
    emit?.("desktop_stopped", { sandbox_id: this.sandboxId(running), reason });
  }

  sandboxId(running: RunningDesktop): string {
    return running.box?.id ?? this.#sessionId;
  }
}
