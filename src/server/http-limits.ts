/** Every bound of the HTTP door, with its unit in the name. The config's `limits` section sets them in snake case. */
export interface HttpLimits {
  /** The largest request body. */
  readonly bodyBytes: number;
  /** Request bodies held at once, from their arrival until their answer; further ones are refused with 429. */
  readonly bodyBytesInFlight: number;
  /** The deepest nesting of a request body. */
  readonly bodyDepth: number;
  readonly headerBytes: number;
  /** How long a client may take to send its headers, and its whole request. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** The largest file or archive that is uploaded. */
  readonly uploadBytes: number;
  /** How long an upload may take in all. */
  readonly uploadTimeoutMs: number;
  /** How long a client of a download, an upload or an exposed port may move no byte before it is cut off. */
  readonly transferStallMs: number;
  /** What an archive may unpack to. */
  readonly archiveEntries: number;
  readonly archiveBytes: number;
  /** How long a WebSocket of an exposed port may be quiet. */
  readonly portIdleMs: number;
  /** How long an idle connection is kept; longer than the client's own, so that no request meets a closing socket. */
  readonly keepAliveTimeoutMs: number;
}

export const defaultHttpLimits: HttpLimits = {
  bodyBytes: 33_554_432,
  bodyBytesInFlight: 268_435_456,
  bodyDepth: 100,
  headerBytes: 16_384,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  uploadBytes: 1_073_741_824,
  uploadTimeoutMs: 3_600_000,
  transferStallMs: 60_000,
  archiveEntries: 100_000,
  archiveBytes: 4_294_967_296,
  portIdleMs: 600_000,
  keepAliveTimeoutMs: 75_000,
};
