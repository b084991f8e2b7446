import type { ErrorName } from "../core/errors.ts";
import type { Envelope } from "../core/protocol.ts";
import { envelopeOfPlainError, isEnvelope, toServerError } from "./envelope.ts";
import { ProtocolError } from "./errors/protocol-error.ts";
import type { Answer } from "./transport.ts";

/** An envelope with the HTTP status it came under. */
export interface EnvelopeAnswer {
  readonly envelope: Envelope;
  readonly status: number;
}

/**
 * Takes an answer for an envelope, whether it reports success or failure.
 *
 * @throws ServerError for an error without envelope; ProtocolError for anything else.
 */
export function expectEnvelope(answer: Answer, method: string): EnvelopeAnswer {
  const { body, status } = answer;
  if (isEnvelope(body)) return { envelope: body, status };
  throw toPlainError(answer, method);
}

/**
 * Takes the data out of an envelope.
 *
 * @param accepted errors whose data is the answer all the same, such as a partial failure.
 * @throws ServerError when the envelope reports any other failure.
 */
export function expectData<T>({ envelope, status }: EnvelopeAnswer, accepted: readonly ErrorName[] = []): T {
  if (envelope.code !== 0) {
    const error = toServerError(envelope, status);
    if (!accepted.includes(error.error) || envelope.data === null) throw error;
  }
  // The protocol says what each path answers; the server checks it in its own tests.
  return envelope.data as T;
}

/**
 * Takes an answer of a path that has no envelope.
 *
 * @throws ServerError or ProtocolError for any status but 2xx and the accepted ones.
 */
export function expectPlain<T>(answer: Answer, method: string, acceptedStatuses: readonly number[] = []): T {
  const { status, body } = answer;
  if ((status < 200 || status > 299) && !acceptedStatuses.includes(status)) throw toPlainError(answer, method);
  if (typeof body !== "object" || body === null) throw toPlainError(answer, method);
  // As in expectData: the protocol says what each path answers.
  return body as T;
}

function toPlainError({ status, body, url }: Answer, method: string): Error {
  if (isEnvelope(body)) return toServerError(body, status);
  const envelope = status >= 400 ? envelopeOfPlainError(body, status) : undefined;
  return envelope === undefined
    ? new ProtocolError(status, method, url, JSON.stringify(body))
    : toServerError(envelope, status);
}
