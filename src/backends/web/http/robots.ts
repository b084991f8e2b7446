import type { Clock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import type { HttpConfig } from "../config.ts";
import type { PageFetcher } from "./fetch-page.ts";
import { parseRobots, type RobotsRules } from "./robots-rules.ts";

const MAX_BYTES = 512 * 1024;
const KEPT_MS = 3_600_000;
const MAX_KEPT = 1_000;

const EVERYTHING: RobotsRules = { allows: () => true };
const NOTHING: RobotsRules = { allows: () => false };

interface Kept {
  readonly rules: RobotsRules;
  readonly expiresAt: number;
}

/** Leaves alone what sites' robots.txt forbid us (RFC 9309): a site that has none forbids nothing, one that fails everything. */
export class Robots {
  readonly #fetcher: PageFetcher;
  readonly #config: HttpConfig;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor(fetcher: PageFetcher, config: HttpConfig, clock: Clock) {
    this.#fetcher = fetcher;
    this.#config = config;
    this.#clock = clock;
  }

  /** @throws ToolyardError `business_failure` when the URL is to be left alone; what a fetch throws. */
  async check(url: URL, signal: AbortSignal): Promise<void> {
    const { robots, robots_name: name } = this.#config;
    if (robots === "ignore") return;
    const rules = await this.#rulesOf(url.origin, signal);
    if (rules.allows(url)) return;
    throw new ToolyardError("business_failure", `the robots.txt of ${url.host} keeps ${name} from ${url.pathname}`, {
      details: { reason: "robots", url: url.href },
      suggestion: "Visit another page; an operator may set http.robots of the web backend.",
    });
  }

  async #rulesOf(origin: string, signal: AbortSignal): Promise<RobotsRules> {
    const now = this.#clock.now();
    const kept = this.#kept.get(origin);
    if (kept !== undefined && kept.expiresAt > now) return kept.rules;
    const rules = await this.#fetch(origin, signal);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= MAX_KEPT) this.#kept.delete(oldest);
    this.#kept.set(origin, { rules, expiresAt: now + KEPT_MS });
    return rules;
  }

  async #fetch(origin: string, signal: AbortSignal): Promise<RobotsRules> {
    const { status, body } = await this.#fetcher.fetch({ url: `${origin}/robots.txt`, maxBytes: MAX_BYTES, signal });
    if (status >= 500) return NOTHING;
    if (status < 200 || status >= 300) return EVERYTHING;
    return parseRobots(body.toString("utf8"), this.#config.robots_name);
  }
}
