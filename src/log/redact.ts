/** Keys whose values never reach a log, in lower case and without `-` and `_`. */
const SECRET =
  /^(?:authorization|cookie|setcookie|password|passwd|passphrase|secret|credentials?|token)$|(?:apikey|accesskey|privatekey|clientsecret|accesstoken|authtoken|refreshtoken|secretkey)$/;

const CENSORED = "[redacted]";
/** How deep secrets are looked for. */
const MAX_DEPTH = 5;

const verdicts = new Map<string, boolean>();
/** Keys come from callers too: the memory of verdicts is bounded. */
const MAX_VERDICTS = 2_000;

function isSecret(key: string): boolean {
  let verdict = verdicts.get(key);
  if (verdict === undefined) {
    verdict = SECRET.test(key.toLowerCase().replaceAll(/[-_]/g, ""));
    if (verdicts.size < MAX_VERDICTS) verdicts.set(key, verdict);
  }
  return verdict;
}

/** Returns the facts without the values of secret keys; the same object when it holds none. */
export function redact<T extends object>(facts: T, depth = 0): T {
  let copy: Record<string, unknown> | undefined;
  for (const key in facts) {
    if (!Object.hasOwn(facts, key)) continue;
    const value: unknown = facts[key];
    if (value === undefined || value === null) continue;
    const clean = isSecret(key) ? CENSORED : redactValue(value, depth);
    if (clean === value) continue;
    // An array's or object's own entries under the same keys.
    copy ??= (Array.isArray(facts) ? [...facts] : { ...facts }) as Record<string, unknown>;
    copy[key] = clean;
  }
  return (copy as T | undefined) ?? facts;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth >= MAX_DEPTH || value instanceof Error) return value;
  return redact(value, depth + 1);
}
