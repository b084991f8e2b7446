import type { Duplex } from "node:stream";

/** Carries one sandbox's connections to where its policy lets it go. */
export interface EgressDoor {
  /** Serves one connection to the sandbox's proxy port, which speaks HTTP proxy (absolute URLs and CONNECT); never throws. */
  accept(connection: Duplex): void;
  /** Ends every connection; idempotent. */
  close(): void;
}

/** Decides what sandboxes may reach. */
export interface Egress {
  /** @throws ToolyardError `invalid_input` for an entry that is no host pattern. */
  open(options: { readonly allow: readonly string[]; readonly sessionId?: string }): EgressDoor;
}
