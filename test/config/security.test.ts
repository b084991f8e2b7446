import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import { toSecurity } from "../../src/config/security.ts";

const read = (security: object, environment: Record<string, string> = {}) =>
  toSecurity(parseConfig(JSON.stringify({ security }), { file: "t.json", environment }).security);

describe("the security section", () => {
  it("leaves everything open to its defaults", () => {
    expect(read({})).toEqual({
      cors: { credentials: false, maxAgeS: 600 },
      security: { authRequired: undefined, apiKey: undefined, rateLimit: undefined },
    });
  });

  it("takes the known implementation's keys as they are", () => {
    const known = {
      allowed_origins: ["http://localhost:3000"],
      rate_limit: { enabled: true, requests_per_minute: 60 },
      auth: { enabled: true, type: "api_key", api_key: "${API_KEY}" },
    };
    expect(read(known, { API_KEY: "0123456789abcdef" }).security).toEqual({
      authRequired: true,
      apiKey: "0123456789abcdef",
      rateLimit: { requestsPerMinute: 60, burst: 60 },
    });
  });

  it("ignores the key of an auth section that is off, set or not", () => {
    for (const key of ["${NOT_SET}", "short", "0123456789abcdef"]) {
      expect(read({ auth: { enabled: false, api_key: key } }).security).toMatchObject({
        authRequired: false,
        apiKey: undefined,
      });
    }
    expect(read({ auth: { api_key: "${NOT_SET:-}" } }).security.apiKey).toBeUndefined();
  });

  it("limits rates when a rate is given, unless it is turned off", () => {
    expect(read({ rate_limit: { requests_per_minute: 0.5 } }).security.rateLimit).toEqual({
      requestsPerMinute: 0.5,
      burst: 1,
    });
    expect(read({ rate_limit: { enabled: true, burst: 7 } }).security.rateLimit).toEqual({
      requestsPerMinute: 600,
      burst: 7,
    });
    expect(read({ rate_limit: { enabled: false, requests_per_minute: 60 } }).security.rateLimit).toBeUndefined();
  });
});
