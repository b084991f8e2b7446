import type { WebSocket } from "ws";
import type { Clock } from "../../core/clock.ts";

/** Asks a WebSocket for a sign of life now and then, and cuts it when none comes; ends with the socket. */
export function keepAlive(socket: WebSocket, clock: Clock, everyMs: number): void {
  let alive = true;
  let cancelTimer: () => void = () => undefined;
  const look = () => {
    if (!alive) {
      socket.terminate();
      return;
    }
    alive = false;
    socket.ping();
    cancelTimer = clock.after(everyMs, look);
  };
  socket.on("pong", () => (alive = true));
  socket.on("message", () => (alive = true));
  socket.once("close", () => cancelTimer());
  cancelTimer = clock.after(everyMs, look);
}
