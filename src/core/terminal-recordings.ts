/** Whose terminal is recorded. */
export interface RecordedTerminal {
  readonly tenant: string;
  readonly workerId: string;
  readonly sessionId: string;
  readonly resource: string;
  readonly terminalId: string;
}

/** A recording that is kept. */
export interface RecordingFacts extends RecordedTerminal {
  /** Unique for ever; sorts by its beginning. */
  readonly id: string;
  readonly startedAt: Date;
  readonly sizeBytes: number;
  /** Whether its terminal still writes to it. */
  readonly running: boolean;
}

/** Where a recording's lines go. Nothing here waits, and nothing throws: a recording that cannot be kept holds up no terminal. */
export interface RecordingFile {
  append(line: string): void;
  end(): void;
}

/** Recordings of terminals, in asciicast form (version 2), that outlive their sessions. */
export interface TerminalRecordings {
  /** @param startedAt when the terminal was started, or taken over. */
  open(of: RecordedTerminal, startedAt: Date): RecordingFile;
  /** One tenant's, newest first. */
  list(tenant: string): Promise<readonly RecordingFacts[]>;
  /** `undefined` for one that there is not, or is another tenant's. */
  find(tenant: string, id: string): Promise<RecordingFacts | undefined>;
  /** What is in it up to now. */
  read(recording: RecordingFacts): AsyncIterable<Uint8Array>;
  /** Answers whether there was one; what its terminal still shows is not recorded. */
  remove(tenant: string, id: string): Promise<boolean>;
  /** Removes what is too old, or more than may be kept of a tenant's, oldest first. */
  prune(): Promise<void>;
  /** Resolves once all that came is written. */
  close(): Promise<void>;
}
