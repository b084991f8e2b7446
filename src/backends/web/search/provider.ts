/** The providers of search, in the order in which they are chosen when the config does not say. */
export const PROVIDER_NAMES = ["serper", "tavily", "brave", "searxng", "fixture"] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];

/** What is searched for: pages by words, images by words, or where an image is used. */
export type SearchKind = "web" | "images" | "reverse_images";

export const RECENCIES = ["day", "week", "month", "year"] as const;

/** One query, in no provider's words. */
export interface SearchQuery {
  readonly kind: SearchKind;
  /** The words, or the URL of the image. */
  readonly text: string;
  readonly count: number;
  /** From 1. */
  readonly page: number;
  /** ISO 639-1. */
  readonly language?: string | undefined;
  /** ISO 3166-1 alpha-2. */
  readonly country?: string | undefined;
  readonly recency?: (typeof RECENCIES)[number] | undefined;
}

/** A page that was found. */
export interface WebHit {
  readonly rank: number;
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
  /** As the provider writes it. */
  readonly date: string | null;
  readonly source: string | null;
}

/** An image that was found, or a page that shows the one that was asked for. */
export interface ImageHit {
  readonly rank: number;
  readonly title: string;
  readonly image_url: string | null;
  readonly thumbnail_url: string | null;
  readonly width: number | null;
  readonly height: number | null;
  /** The page that shows it. */
  readonly link: string | null;
  readonly source: string | null;
}

/** What a provider found. */
export interface SearchAnswer {
  readonly results: readonly WebHit[];
  readonly images: readonly ImageHit[];
  /** What the provider says by itself: an answer box, a knowledge panel. */
  readonly answer: string | null;
  /** Other queries that it suggests. */
  readonly related: readonly string[];
}

export const NOTHING: SearchAnswer = { results: [], images: [], answer: null, related: [] };

/** A request of a provider's HTTP API. */
export interface ApiRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON by POST; without it the request is a GET. */
  readonly body?: Readonly<Record<string, unknown>>;
}

/** Sends a request within the provider's pace, tries again where that helps, and gives the JSON that was answered. */
export type SendRequest = (request: ApiRequest) => Promise<unknown>;

/** Where searches are answered. */
export interface SearchProvider {
  readonly name: ProviderName;
  readonly kinds: readonly SearchKind[];
  /** Results of one query at most. */
  readonly maxCount: number;
  /** The last page of results that can be asked for. */
  readonly maxPage: Readonly<Record<SearchKind, number>>;
  /** @throws ToolyardError `upstream_unreadable` for an answer of another shape, and whatever `send` throws. */
  search(query: SearchQuery, send: SendRequest): Promise<SearchAnswer>;
}
