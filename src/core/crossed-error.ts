import { type ErrorName, ToolyardError } from "./errors.ts";

/** An error as plain data, since structured cloning would keep only its message. */
export type CrossedError =
  | {
      readonly typed: true;
      readonly error: ErrorName;
      readonly message: string;
      readonly details?: Readonly<Record<string, unknown>>;
      readonly suggestion: string;
      readonly retryable: boolean;
      readonly status: number;
      readonly outcome: ToolyardError["outcome"];
    }
  | { readonly typed: false; readonly name: string; readonly message: string; readonly stack?: string };

/** Turns what was thrown into plain data; details that cannot cross are left behind. */
export function packError(thrown: unknown): CrossedError {
  if (ToolyardError.is(thrown)) {
    const { error, message, details, suggestion, retryable, status, outcome } = thrown;
    const fields = { typed: true, error, message, suggestion, retryable, status, outcome } as const;
    return details !== undefined && isCloneable(details) ? { ...fields, details } : fields;
  }
  if (!(thrown instanceof Error)) return { typed: false, name: "Error", message: String(thrown) };
  const { name, message, stack } = thrown;
  return { typed: false, name, message, ...(stack !== undefined && { stack }) };
}

/** Makes an error again of what {@link packError} made. */
export function unpackError(crossed: CrossedError): Error {
  if (crossed.typed) {
    const { error, message, typed: _, ...options } = crossed;
    return new ToolyardError(error, message, options);
  }
  const error = new Error(crossed.message);
  error.name = crossed.name;
  if (crossed.stack !== undefined) error.stack = crossed.stack;
  return error;
}

/** Whether a value can be sent to another thread. */
export function isCloneable(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}
