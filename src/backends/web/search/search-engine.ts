import type { Clock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import { ResultCache } from "../cache/result-cache.ts";
import type { WebConfig } from "../config.ts";
import { Pace } from "../http/pace.ts";
import { createBrave } from "./brave.ts";
import { createFixture } from "./fixture.ts";
import type { ProviderName, SearchAnswer, SearchKind, SearchProvider, SearchQuery } from "./provider.ts";
import { createSearxng } from "./searxng.ts";
import { sendRequest } from "./send-request.ts";
import { createSerper } from "./serper.ts";
import { createTavily } from "./tavily.ts";

const MIB = 1024 * 1024;

/** What makes a provider serve, for who has none. */
const NEEDS: Readonly<Record<ProviderName, string>> = {
  serper: "serper.api_key (SERPER_API_KEY)",
  tavily: "tavily.api_key (TAVILY_API_KEY)",
  brave: "brave.api_key (BRAVE_API_KEY)",
  searxng: "searxng.url (SEARXNG_URL)",
  fixture: "fixture.documents",
};

/** How a query is asked. */
export interface AskOptions {
  readonly tenant: string;
  readonly provider?: ProviderName | undefined;
  /** Past the cache, which is filled anew. */
  readonly fresh: boolean;
  readonly signal: AbortSignal;
}

/** What was found, and by whom. */
export interface Found extends SearchAnswer {
  readonly provider: ProviderName;
  readonly cached: boolean;
}

/** Asks the providers that the config sets up, within their limits, and keeps what they answer. */
export class SearchEngine {
  readonly #config: WebConfig;
  readonly #clock: Clock;
  readonly #providers: ReadonlyMap<ProviderName, SearchProvider>;
  readonly #paces: ReadonlyMap<ProviderName, Pace>;
  readonly #cache: ResultCache<SearchAnswer>;

  constructor(config: WebConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
    this.#providers = new Map(createProviders(config).map((provider) => [provider.name, provider]));
    const paces = [...this.#providers.keys()].flatMap((name) => {
      const options = config[name];
      return options === undefined ? [] : [[name, new Pace(name, options, config.search.max_wait_ms, clock)] as const];
    });
    this.#paces = new Map(paces);
    const { search_seconds: seconds, max_mib: maxMib } = config.cache;
    this.#cache = new ResultCache({ ttlMs: seconds * 1000, maxBytes: maxMib * MIB, clock });
  }

  /** @throws ToolyardError `api_key_missing` when nobody can answer; what the last provider asked throws. */
  async ask(query: SearchQuery, options: AskOptions): Promise<Found> {
    const candidates = this.#choose(query.kind, options.provider);
    const asked = this.#config.fallback && options.provider === undefined ? candidates : candidates.slice(0, 1);
    let failure: unknown;
    for (const provider of asked) {
      try {
        // The next is asked only when this one failed.
        // oxlint-disable-next-line no-await-in-loop
        return await this.#askOne(provider, query, options);
      } catch (error) {
        options.signal.throwIfAborted();
        failure = error;
      }
    }
    throw failure;
  }

  #choose(kind: SearchKind, named: ProviderName | undefined): SearchProvider[] {
    const { providers: order } = this.#config;
    const names = named === undefined ? order : [named];
    const able = names.flatMap((name) => {
      const provider = this.#providers.get(name);
      return provider?.kinds.includes(kind) === true ? [provider] : [];
    });
    if (able.length > 0) return able;
    const configured = names.filter((name) => this.#providers.has(name));
    if (named !== undefined && configured.length > 0) {
      throw new ToolyardError("invalid_input", `${named} has no ${SAID[kind]}`, {
        suggestion: "Name no provider: the first that can do it is taken.",
      });
    }
    const capable = names.filter((name) => ABLE[kind].includes(name)).map((name) => NEEDS[name]);
    throw new ToolyardError("api_key_missing", `no provider of ${SAID[kind]} is configured`, {
      details: { needs: capable },
      suggestion: `Set one of these in the config of the web backend: ${capable.join(", ")}.`,
    });
  }

  async #askOne(provider: SearchProvider, query: SearchQuery, { tenant, fresh, signal }: AskOptions): Promise<Found> {
    const last = provider.maxPage[query.kind];
    if (query.page > last) {
      // What it would answer is the page before.
      throw new ToolyardError(
        "invalid_input",
        `${provider.name} gives ${last} page${last === 1 ? "" : "s"} of results`,
        {
          details: { provider: provider.name, limit: "page", max: last },
          suggestion: "Ask for more results at once with count, or ask another provider.",
        },
      );
    }
    const asked = { ...query, count: Math.min(query.count, provider.maxCount) };
    // Whether another tenant asked the same is none of this one's business.
    const key = JSON.stringify([tenant, provider.name, ...Object.entries(asked).flat()]);
    const kept = fresh ? undefined : this.#cache.get(key);
    if (kept !== undefined) return { ...kept, provider: provider.name, cached: true };
    const answer = await this.#cache.ask(key, signal, (shared) => this.#send(provider, asked, shared));
    return { ...answer, provider: provider.name, cached: false };
  }

  #send(provider: SearchProvider, query: SearchQuery, signal: AbortSignal): Promise<SearchAnswer> {
    const pace = this.#paces.get(provider.name);
    if (pace === undefined) throw new TypeError(`${provider.name} has no pace`);
    const options = { provider: provider.name, config: this.#config.search, pace, clock: this.#clock, signal };
    return provider.search(query, (request) => sendRequest(request, options));
  }
}

const SAID: Readonly<Record<SearchKind, string>> = {
  web: "search",
  images: "image search",
  reverse_images: "reverse image search",
};

const ABLE: Readonly<Record<SearchKind, readonly ProviderName[]>> = {
  web: ["serper", "tavily", "brave", "searxng", "fixture"],
  images: ["serper", "tavily", "brave", "searxng", "fixture"],
  reverse_images: ["serper", "fixture"],
};

/** Those that have what they need. */
function createProviders({ serper, tavily, brave, searxng, fixture }: WebConfig): SearchProvider[] {
  const providers: SearchProvider[] = [];
  if (serper !== undefined && serper.api_key !== "") providers.push(createSerper(serper));
  if (tavily !== undefined && tavily.api_key !== "") providers.push(createTavily(tavily));
  if (brave !== undefined && brave.api_key !== "") providers.push(createBrave(brave));
  if (searxng !== undefined && searxng.url !== "") providers.push(createSearxng(searxng));
  if (fixture !== undefined) providers.push(createFixture(fixture));
  return providers;
}
