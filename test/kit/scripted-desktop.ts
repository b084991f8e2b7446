import { type Duplex, duplexPair } from "node:stream";
import { ByteReader } from "../../src/backends/vm/rfb/byte-reader.ts";
import { Backend } from "../../src/core/backend.ts";
import type { ToolContext } from "../../src/core/context.ts";
import type { SessionDesktop } from "../../src/core/desktop.ts";
import { ToolyardError } from "../../src/core/errors.ts";
import type { Session } from "../../src/core/session.ts";
import { tool } from "../../src/core/tool.ts";

/** The display's side of one connection: it greets as a real one does, and keeps all that it is sent. */
export class ScriptedDisplayEnd {
  readonly channel: Duplex;
  /** What came behind the handshake. */
  received = Buffer.alloc(0);
  /** The client's word whether others stay. */
  shared: number | undefined;
  ended = false;

  constructor(channel: Duplex) {
    this.channel = channel;
    channel.on("error", () => undefined);
    channel.once("end", () => {
      this.ended = true;
      channel.end();
    });
  }

  async serve({ securities = [1], name = "test" } = {}): Promise<void> {
    const reader = new ByteReader(this.channel);
    this.channel.write("RFB 003.008\n");
    await reader.bytes(12);
    this.channel.write(Buffer.of(securities.length, ...securities));
    await reader.bytes(1);
    this.channel.write(Buffer.alloc(4));
    this.shared = await reader.u8();
    const init = Buffer.alloc(24);
    init.writeUInt16BE(640, 0);
    init.writeUInt16BE(480, 2);
    init.writeUInt32BE(name.length, 20);
    this.channel.write(Buffer.concat([init, Buffer.from(name)]));
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- a byte after the other
      this.received = Buffer.concat([this.received, await reader.bytes(1)]);
    }
  }
}

/** A backend whose sessions have a desktop that the test plays. */
export class ScriptedDesktops extends Backend<{ readonly id: string }> {
  readonly resource = "desk";
  readonly displays: ScriptedDisplayEnd[] = [];
  securities = [1];
  stopped = false;
  releases = 0;
  onUse: (context: ToolContext<{ readonly id: string }>) => unknown = () => null;

  constructor() {
    super({ config: {} });
  }

  override initialize({ sessionId }: { readonly sessionId: string }) {
    return Promise.resolve({ id: sessionId });
  }

  override desktop(_session: Session<{ readonly id: string }>): SessionDesktop {
    if (this.stopped) throw new ToolyardError("conflict", "The desktop is stopped");
    return {
      connectDisplay: () => {
        const [ours, theirs] = duplexPair();
        const display = new ScriptedDisplayEnd(theirs);
        this.displays.push(display);
        display.serve({ securities: this.securities }).catch(() => undefined);
        return Promise.resolve(ours);
      },
      releaseInput: () => void (this.releases += 1),
    };
  }

  get last(): ScriptedDisplayEnd {
    const display = this.displays.at(-1);
    if (display === undefined) throw new Error("nobody connected");
    return display;
  }

  @tool({ description: "Does what the test says." })
  async use(_: object, context: ToolContext<{ readonly id: string }>) {
    return (await this.onUse(context)) ?? null;
  }
}
