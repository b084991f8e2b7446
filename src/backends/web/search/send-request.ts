import type { Clock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import type { SearchConfig } from "../config.ts";
import type { Pace } from "../http/pace.ts";
import { deadline } from "../http/pause.ts";
import { type Attempt, mayPass, readRetryAfter, withRetries } from "../http/retry.ts";
import type { ApiRequest, ProviderName } from "./provider.ts";

const MIB = 1024 * 1024;
const MAX_MESSAGE = 300;

/** What requests to one provider are sent with. */
export interface SendOptions {
  readonly provider: ProviderName;
  readonly config: SearchConfig;
  readonly pace: Pace;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Asks a provider's HTTP API, which is where the config says: it may be on a private address.
 *
 * @throws ToolyardError `upstream_failed`, `upstream_unreadable`, `rate_limited`; the signal's reason.
 */
export function sendRequest(request: ApiRequest, options: SendOptions): Promise<unknown> {
  const { pace, clock, signal, config } = options;
  return withRetries(() => pace.run(signal, () => attempt(request, options)), { ...config, clock, signal });
}

async function attempt(request: ApiRequest, options: SendOptions): Promise<Attempt<unknown>> {
  const { provider, config, clock, signal } = options;
  const late = () => new ToolyardError("upstream_failed", `${provider} did not answer in ${config.timeout_ms} ms`);
  const limit = deadline(clock, config.timeout_ms, signal, late);
  try {
    const answer = await fetch(request.url, {
      method: request.body === undefined ? "GET" : "POST",
      headers: {
        accept: "application/json",
        ...(request.body && { "content-type": "application/json" }),
        ...request.headers,
      },
      ...(request.body && { body: JSON.stringify(request.body) }),
      // Where a key is sent is the config's to say.
      redirect: "error",
      signal: limit.signal,
    });
    const text = await readText(answer, provider, config.max_answer_mib * MIB);
    return answer.ok ? { value: parse(text, provider) } : refuse(answer, text, options);
  } catch (cause) {
    signal.throwIfAborted();
    if (limit.signal.aborted) return { failure: late(), again: true };
    if (ToolyardError.is(cause)) return { failure: cause, again: false };
    const failure = new ToolyardError("upstream_failed", `${provider} cannot be reached`, {
      cause,
      details: { provider },
    });
    return { failure, again: true };
  } finally {
    limit.cancel();
  }
}

function refuse({ status, headers }: Response, text: string, { provider, clock }: SendOptions): Attempt<never> {
  const afterMs = readRetryAfter(headers.get("retry-after"), clock) ?? readQuotaReset(headers);
  const said = messageIn(text);
  const message = `${provider} answered ${status}${said === "" ? "" : `: ${said}`}`;
  const details = { provider, status, ...(afterMs !== undefined && { retry_after_ms: afterMs }) };
  if (status === 429) {
    // The caller's patience would help; that the limit was met is no fault of its.
    const failure = new ToolyardError("rate_limited", message, { details, outcome: "infra_error" });
    return { failure, again: mayPass(status, afterMs), afterMs };
  }
  const failure = new ToolyardError("upstream_failed", message, {
    details,
    retryable: status >= 500,
    // Brave answers 422 for a key that is none.
    ...((status === 401 || status === 403 || /TOKEN_INVALID/.test(text)) && {
      suggestion: `Check what the server's config says of ${provider}: its key, or whether it may be asked for JSON.`,
    }),
  });
  return { failure, again: mayPass(status, afterMs), afterMs };
}

/** When the quotas are filled again that are used up, as Brave says it: a number for each of its windows, `1, 1419704`. */
function readQuotaReset(headers: Headers): number | undefined {
  const numbers = (name: string) => (headers.get(name) ?? "").split(",").map((part) => Number.parseInt(part, 10));
  const left = numbers("x-ratelimit-remaining");
  const waits = numbers("x-ratelimit-reset").filter((seconds, index) => seconds >= 0 && left[index] === 0);
  return waits.length === 0 ? undefined : Math.max(...waits) * 1000;
}

async function readText(answer: Response, provider: ProviderName, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer.body ?? []) {
    size += part.length;
    if (size > maxBytes) {
      throw new ToolyardError("upstream_unreadable", `${provider} answered more than ${maxBytes} bytes`, {
        details: { provider, limit: "max_answer_mib" },
      });
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function parse(text: string, provider: ProviderName): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ToolyardError("upstream_unreadable", `${provider} answered something else than JSON`, {
      details: { provider },
      cause,
    });
  }
}

/** What a refusal says for people, where the usual places hold it. */
function messageIn(text: string): string {
  try {
    const body: unknown = JSON.parse(text);
    const found = /"(?:message|detail|error|error_message)":"((?:[^"\\]|\\.)*)"/.exec(JSON.stringify(body))?.[1];
    return found === undefined ? "" : String(JSON.parse(`"${found}"`)).slice(0, MAX_MESSAGE);
  } catch {
    return "";
  }
}
