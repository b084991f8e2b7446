import { z } from "zod";
import { ChatModelConfig } from "../../core/chat-model.ts";
import { FixtureDocument } from "./search/fixture.ts";
import { PROVIDER_NAMES } from "./search/provider.ts";

const Limit = (maximum: number) => z.int().min(1).max(maximum);
const HttpUrl = z.url({ protocol: /^https?$/ });

/** How often and how much at once a provider may be asked, by all workers together. */
const PACE = {
  requests_per_second: z.number().min(0.001).max(10_000).optional(),
  /** Requests that may go at once after a pause. */
  burst: Limit(10_000).default(1),
  concurrency: Limit(256).default(5),
};

/** A provider without a key is as good as not there, so that a config may say `${SERPER_API_KEY:-}`. */
const keyed = (url: string) =>
  z.strictObject({ api_key: z.string().max(4_096).default(""), url: HttpUrl.default(url), ...PACE }).optional();

const Search = z.strictObject({
  /** Results of a query when the call does not say. */
  default_count: Limit(100).default(10),
  max_queries: Limit(1_024).default(64),
  /** Queries of one call that are under way at once. */
  parallel: Limit(64).default(5),
  /** Of one attempt. */
  timeout_ms: Limit(600_000).default(20_000),
  retries: z.int().min(0).max(10).default(2),
  retry_delay_ms: Limit(60_000).default(500),
  /** A provider that asks to be left alone for longer than this is given up. */
  max_retry_delay_ms: Limit(600_000).default(10_000),
  /** How long a query may wait for a provider's pace. */
  max_wait_ms: Limit(600_000).default(30_000),
  max_answer_mib: Limit(64).default(4),
});

const Http = z.strictObject({
  user_agent: z
    .string()
    .min(1)
    .max(512)
    .regex(/^[\x20-\x7e]+$/)
    .default("Mozilla/5.0 (compatible; Toolyard/0.1)"),
  /** Whether what a site's robots.txt forbids is left alone, and by which name we look ourselves up in it. */
  robots: z.enum(["respect", "ignore"]).default("respect"),
  robots_name: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[a-z_-]+$/i)
    .default("Toolyard"),
  /** Ports of public hosts. */
  ports: z.array(z.int().min(1).max(65_535)).default([80, 443]),
  /** Hosts that may be at private addresses, as `wiki.corp:8080`. */
  private_hosts: z.array(z.string()).default([]),
  /** What `web:fetch` may send. */
  methods: z.array(z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])).default(["GET", "HEAD"]),
  max_redirects: z.int().min(0).max(20).default(5),
  /** Of one answer, on the wire and unpacked. */
  max_mib: Limit(256).default(10),
  /** Of one page, with its redirects. */
  timeout_ms: Limit(600_000).default(30_000),
  retries: z.int().min(0).max(10).default(1),
  retry_delay_ms: Limit(60_000).default(500),
  max_retry_delay_ms: Limit(600_000).default(5_000),
});

const Visit = z.strictObject({
  max_urls: Limit(256).default(32),
  /** Pages of one call that are under way at once. */
  parallel: Limit(64).default(5),
  /** Characters of a page's text when the call does not say, and for the model that looks for a goal. */
  content_limit: Limit(2_000_000).default(50_000),
});

const Cache = z.strictObject({
  /** Seconds that search results and pages are kept; 0 for not at all. */
  search_seconds: z.int().min(0).max(2_592_000).default(3_600),
  page_seconds: z.int().min(0).max(2_592_000).default(300),
  max_mib: Limit(4_096).default(64),
});

/** The backend's entry in the config file. */
export const WebConfig = z.strictObject({
  /** The order in which providers are chosen; the first that is configured and can do it serves. */
  providers: z
    .array(z.enum(PROVIDER_NAMES))
    .min(1)
    .default([...PROVIDER_NAMES]),
  /** Whether the next provider is asked when one fails. */
  fallback: z.boolean().default(false),
  serper: keyed("https://google.serper.dev"),
  tavily: keyed("https://api.tavily.com"),
  brave: keyed("https://api.search.brave.com"),
  /** Where SearXNG answers, with JSON among its formats. Without a URL it is as good as not there. */
  searxng: z.strictObject({ url: z.union([z.literal(""), HttpUrl]).default(""), ...PACE }).optional(),
  /** Documents that are searched without any network, for tests and for trying things out. */
  fixture: z.strictObject({ documents: z.array(FixtureDocument).max(10_000), ...PACE }).optional(),
  search: Search.prefault({}),
  http: Http.prefault({}),
  visit: Visit.prefault({}),
  cache: Cache.prefault({}),
  /** The model that reads pages for a goal; without one the page's own text is the answer. */
  model: ChatModelConfig.optional(),
  /** The tool that shows a page in a browser: it takes `url` and gives `url`, `html` and perhaps `status`. */
  browser_action: z.string().min(1).max(128).default("browser:render"),
});
export type WebConfig = z.infer<typeof WebConfig>;
export type HttpConfig = WebConfig["http"];
export type SearchConfig = WebConfig["search"];
