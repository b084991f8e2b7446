import { z } from "zod";

/** The shortest `security.auth.api_key`: shorter ones can be guessed. */
const MIN_KEY_LENGTH = 16;
const DEFAULT_REQUESTS_PER_MINUTE = 600;

const Auth = z
  .strictObject({
    /** By default callers need a key as soon as there is one. */
    enabled: z.boolean().optional(),
    /** How the key is sent is the caller's choice; the known implementation's configs have the word. */
    type: z.enum(["api_key", "bearer"]).default("api_key"),
    /** One key of the tenant `default` with every scope, beside those of `toolyard keys`; empty is none. */
    api_key: z.string().optional(),
  })
  .superRefine(({ enabled, api_key: key = "" }, context) => {
    if (enabled === false || key === "" || (key.length >= MIN_KEY_LENGTH && /^[\x21-\x7e]+$/.test(key))) return;
    const message = `it must have ${MIN_KEY_LENGTH} printable ASCII characters at least, without spaces`;
    context.addIssue({ code: "custom", path: ["api_key"], message });
  });

const RateLimit = z.strictObject({
  /** By default on when `requests_per_minute` is there. */
  enabled: z.boolean().optional(),
  /** Of each key, or of each address where no key is asked for. */
  requests_per_minute: z.number().positive().max(100_000_000).optional(),
  /** Requests that may come at once after a pause; by default those of a minute. */
  burst: z.int().min(1).optional(),
});

/** The `security` section of a config. */
export const securitySchema = z.strictObject({
  allowed_origins: z.array(z.string()).default([]),
  auth: Auth.prefault({}),
  rate_limit: RateLimit.prefault({}),
  cors: z
    .strictObject({
      /** Whether pages of allowed origins may send cookies and the like. */
      credentials: z.boolean().default(false),
      /** Seconds that a browser may remember what it may do. */
      max_age: z.int().min(0).max(86_400).default(600),
    })
    .prefault({}),
});

type SecurityConfig = z.output<typeof securitySchema>;

/** Turns the `security` section into what the HTTP server takes. */
export function toSecurity({ auth, rate_limit: rate, cors }: SecurityConfig) {
  const requestsPerMinute = rate.requests_per_minute ?? DEFAULT_REQUESTS_PER_MINUTE;
  const isLimited = rate.enabled ?? rate.requests_per_minute !== undefined;
  return {
    cors: { credentials: cors.credentials, maxAgeS: cors.max_age },
    security: {
      authRequired: auth.enabled,
      apiKey: auth.enabled === false || auth.api_key === "" ? undefined : auth.api_key,
      rateLimit: isLimited
        ? { requestsPerMinute, burst: rate.burst ?? Math.max(1, Math.floor(requestsPerMinute)) }
        : undefined,
    },
  };
}
