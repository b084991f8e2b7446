import { isJsonObject } from "../envelope.ts";
import type { ContentBlock } from "./tool-view.ts";

const IMAGE_FIELDS = ["image", "screenshot", "base64"];
const LIST_FIELDS = ["images", "screenshots"];

/** The first characters of each format's bytes in base64. */
const SIGNATURES = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["UklGR", "image/webp"],
  ["R0lGOD", "image/gif"],
] as const;

/** Finds the pictures in a result, in the fields where tools put them. */
export function imageBlocks(data: unknown): readonly ContentBlock[] {
  if (!isJsonObject(data)) return [];
  const found = [
    ...IMAGE_FIELDS.map((name) => data[name]),
    ...LIST_FIELDS.flatMap((name) => (Array.isArray(data[name]) ? data[name] : [])),
  ];
  return found.flatMap((value) => toImageBlock(value) ?? []);
}

/** The same result with a word in place of each picture, for text. */
export function withoutImages(data: unknown): unknown {
  if (!isJsonObject(data)) return data;
  const blank = (value: unknown) => (toImageBlock(value) === undefined ? value : "[image]");
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => {
      if (IMAGE_FIELDS.includes(name)) return [name, blank(value)];
      return [name, LIST_FIELDS.includes(name) && Array.isArray(value) ? value.map(blank) : value];
    }),
  );
}

function toImageBlock(value: unknown): ContentBlock | undefined {
  if (typeof value === "string") return fromText(value);
  if (!isJsonObject(value)) return undefined;
  const data = value["base64"] ?? value["data"];
  if (typeof data !== "string") return undefined;
  const declared = value["mime_type"] ?? value["mimeType"] ?? value["media_type"];
  if (typeof declared === "string" && declared.startsWith("image/")) return { type: "image", data, mimeType: declared };
  return fromText(data);
}

function fromText(text: string): ContentBlock | undefined {
  const dataUrl = /^data:(image\/[\w.+-]+);base64,/.exec(text);
  const mimeType = dataUrl?.[1];
  if (dataUrl !== null && mimeType !== undefined) {
    return { type: "image", data: text.slice(dataUrl[0].length), mimeType };
  }
  const known = SIGNATURES.find(([signature]) => text.startsWith(signature));
  return known === undefined ? undefined : { type: "image", data: text, mimeType: known[1] };
}
