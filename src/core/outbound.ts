import type { Duplex } from "node:stream";

/** Which connections to the outside may be made. */
export interface OutboundRules {
  /** The ports of public hosts. */
  readonly ports: readonly number[];
  /** Hosts that may be at any address, private ones too, as `wiki.corp:8080`; without a port 80 and 443 are meant. */
  readonly privateHosts: readonly string[];
}

/** Connects to the outside, where its rules let it. */
export interface Outbound {
  /**
   * Connects to a host at an address that was judged at this very moment: names are resolved once per connection.
   *
   * @throws ToolyardError `address_refused`, `invalid_url`, `upstream_failed`; the signal's reason.
   */
  connect(host: string, port: number, signal: AbortSignal): Promise<Duplex>;
  /**
   * Judges as {@link connect} would, for what others connect to under rules of their own.
   *
   * @throws ToolyardError `address_refused`, `invalid_url`, `upstream_failed`; the signal's reason.
   */
  check(host: string, port: number, signal: AbortSignal): Promise<void>;
}

/** @throws ToolyardError `invalid_input` for an entry that is no host pattern. */
export type OpenOutbound = (rules: OutboundRules) => Outbound;
