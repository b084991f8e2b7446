import { type ClientOptions, WebSocket } from "ws";

export interface TtydClientOptions extends ClientOptions {
  /** `null` for a client that says nothing at first. */
  readonly hello?: object | null;
}

/** How a connection ended. */
export interface TtydClose {
  readonly code: number;
  readonly reason: string;
}

/** What speaks ttyd's protocol as its own page does, over the library that most clients use. */
export class TtydClient {
  readonly socket: WebSocket;
  /** All output so far, snapshots included. */
  output = "";
  readonly titles: string[] = [];
  readonly preferences: Record<string, unknown>[] = [];
  readonly closed: Promise<TtydClose>;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    const { promise, resolve } = Promise.withResolvers<TtydClose>();
    this.closed = promise;
    socket.on("message", (data: Buffer) => {
      const text = data.subarray(1).toString("utf8");
      if (data[0] === 0x30) this.output += text;
      else if (data[0] === 0x31) this.titles.push(text);
      else this.preferences.push(JSON.parse(text));
    });
    socket.on("close", (code, reason) => resolve({ code, reason: reason.toString("utf8") }));
    socket.on("error", () => undefined);
  }

  /** Connects and says hello; rejects with the status when it is refused. */
  static async open(url: string, { hello = {}, ...options }: TtydClientOptions = {}): Promise<TtydClient> {
    const socket = new WebSocket(url.replace(/^http/, "ws"), ["tty"], options);
    const client = new TtydClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("unexpected-response", (_, answer) => reject(new Error(`refused with ${answer.statusCode}`)));
      socket.once("error", reject);
    });
    if (hello !== null) socket.send(JSON.stringify({ AuthToken: "", ...hello }));
    return client;
  }

  type(text: string): void {
    this.socket.send(`0${text}`);
  }

  resize(columns: number, rows: number): void {
    this.socket.send(`1${JSON.stringify({ columns, rows })}`);
  }

  pause(): void {
    this.socket.send("2");
  }

  resume(): void {
    this.socket.send("3");
  }
}
