import { ToolyardError } from "../../../core/errors.ts";
import type { ImageHit, ProviderName, WebHit } from "./provider.ts";

type JsonObject = Readonly<Record<string, unknown>>;

const MAX_TEXT = 10_000;
const MAX_URL = 8_192;
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Reads an answer's object. @throws ToolyardError `upstream_unreadable` when it is none. */
export function objectOf(answer: unknown, provider: ProviderName): JsonObject {
  if (isObject(answer)) return answer;
  throw new ToolyardError("upstream_unreadable", `${provider} answered something else than search results`, {
    details: { provider },
  });
}

/** The objects in a list; empty for what is no list, since providers leave out what is empty. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function fieldOf(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** A text on one line, without markup; `null` for what is none. */
export function textOf(value: unknown): string | null {
  if (typeof value !== "string") return null;
  const text = value.slice(0, MAX_TEXT).toWellFormed();
  const plain = /[<&]/.test(text) ? withoutMarkup(text) : text;
  const line = plain.replace(/\s+/g, " ").trim();
  return line === "" ? null : line;
}

/** An absolute http or https URL; `null` for anything else. */
export function urlOf(value: unknown): string | null {
  if (typeof value !== "string" || value.length > MAX_URL || !URL.canParse(value)) return null;
  const { protocol, href } = new URL(value);
  return protocol === "http:" || protocol === "https:" ? href : null;
}

export function sizeOf(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/** Numbers the pages that have a URL, up to a count. */
export function toWebHits(hits: readonly (Omit<WebHit, "rank" | "url"> & { url: string | null })[], count: number) {
  const found: WebHit[] = [];
  for (const hit of hits) {
    if (found.length === count) break;
    if (hit.url !== null) found.push({ rank: found.length + 1, ...hit, url: hit.url });
  }
  return found;
}

/** Numbers the images that have a URL of any kind, up to a count. */
export function toImageHits(hits: readonly Omit<ImageHit, "rank">[], count: number): ImageHit[] {
  return hits
    .filter(
      ({ image_url: image, thumbnail_url: thumbnail, link }) => image !== null || thumbnail !== null || link !== null,
    )
    .slice(0, count)
    .map((hit, index) => ({ rank: index + 1, ...hit }));
}

function withoutMarkup(text: string): string {
  return text.replace(/<\/?[a-z][^<>]*>/gi, "").replace(/&(#x?[0-9a-f]{1,6}|[a-z]{2,8});/gi, (entity, name: string) => {
    if (!name.startsWith("#")) return ENTITIES[name.toLowerCase()] ?? entity;
    const code = name[1]?.toLowerCase() === "x" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 31 && code <= 0x10_ffff ? String.fromCodePoint(code).toWellFormed() : "";
  });
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
