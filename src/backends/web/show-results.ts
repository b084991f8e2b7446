import type { ImageHit, WebHit } from "./search/provider.ts";
import type { Found } from "./search/search-engine.ts";

/** Between the texts of several queries or pages, as the known implementation has it. */
export const SEPARATOR = "\n=======\n";

/** Shows a query's pages as Markdown. */
export function showWebResults(query: string, { results, answer, related }: Found): string {
  if (results.length === 0 && answer === null) return nothing(query);
  const parts = [`A search for '${query}' found ${results.length} results:`];
  if (answer !== null) parts.push(`## Answer\n${answer}`);
  if (results.length > 0) parts.push(`## Web Results\n${results.map(showHit).join("\n\n")}`);
  if (related.length > 0) parts.push(`## Related Searches\n${related.map((one) => `- ${one}`).join("\n")}`);
  return parts.join("\n\n");
}

/** Shows images as Markdown. */
export function showImages(query: string, { images }: Found): string {
  if (images.length === 0) return nothing(query);
  return `An image search for '${query}' found ${images.length} images:\n\n${images.map(showImage).join("\n\n")}`;
}

function showHit({ rank, title, url, date, source, snippet }: WebHit): string {
  const facts = [date === null ? "" : `Date published: ${date}`, source === null ? "" : `Source: ${source}`, snippet];
  return [`${rank}. [${toLabel(title || url)}](${url})`, ...facts.filter((fact) => fact !== "")].join("\n");
}

function showImage({ rank, title, image_url: image, thumbnail_url: thumbnail, width, height, link, source }: ImageHit) {
  const size = width === null || height === null ? "" : ` (${width}x${height})`;
  const shown = image ?? thumbnail;
  return [
    `${rank}. ${title || "Untitled"}${size}`,
    ...(shown === null ? [] : [`Image: ${shown}`]),
    ...(link === null ? [] : [`Page: ${link}`]),
    ...(source === null ? [] : [`Source: ${source}`]),
  ].join("\n");
}

function toLabel(title: string): string {
  return title.replace(/[[\]]/g, "\\$&");
}

function nothing(query: string): string {
  return `No results found for '${query}'. Try with a more general query.`;
}
