import { z } from "zod";
import { PROVIDER_NAMES, RECENCIES } from "./search/provider.ts";

const Text = z.string().trim().min(1).max(4_096);
const Url = z.string().trim().min(1).max(8_192);
const oneOrMany = <T extends z.ZodType>(schema: T) =>
  z.union([schema, z.array(schema).min(1).max(1_024)], { error: "is a text, or a list of texts, none of them empty" });

const SearchOptions = {
  count: z.int().min(1).max(100).optional().describe("Results of each query at most; the server's default by default."),
  page: z.int().min(1).max(100).default(1).describe("Which page of results."),
  language: z
    .string()
    .regex(/^[a-z]{2}$/i)
    .optional()
    .describe("Two letters, as en."),
  country: z
    .string()
    .regex(/^[a-z]{2}$/i)
    .optional()
    .describe("Two letters, as us."),
  provider: z.enum(PROVIDER_NAMES).optional().describe("Who is asked; the server's choice by default."),
  fresh: z.boolean().default(false).describe("Ask anew what was asked a short time ago."),
};
const Recency = z.enum(RECENCIES).optional().describe("Only what is no older.");

export const SearchParams = z.strictObject({
  query: oneOrMany(Text).describe("What to search for; several queries are asked together."),
  ...SearchOptions,
  recency: Recency,
});
export const ImageSearchParams = z.strictObject({
  query: oneOrMany(Text).describe("What the images show; several queries are asked together."),
  ...SearchOptions,
});
export const ReverseImageSearchParams = z.strictObject({
  image_url: oneOrMany(Url).describe("The public http or https URL of the image."),
  ...SearchOptions,
});

export const VisitParams = z.strictObject({
  urls: oneOrMany(Url).describe("The pages to read."),
  goal: z
    .string()
    .max(4_096)
    .optional()
    .describe("What is looked for; a model then reads for it, where the server has one."),
  full_page: z.boolean().default(false).describe("The whole page instead of the article in it."),
  links: z.boolean().default(false).describe("List the page's links, too."),
  start: z.int().min(0).default(0).describe("Where in the text to begin: next_start of the call before."),
  max_characters: z.int().min(100).max(2_000_000).optional().describe("Of each page's text at most."),
  browser: z.boolean().default(false).describe("Show the page in a browser first, so that its scripts run."),
  fresh: z.boolean().default(false).describe("Fetch anew what was fetched a short time ago."),
});

const HeaderName = z.string().regex(/^[!#$%&'*+.^_`|~0-9a-z-]{1,128}$/i);
export const FetchParams = z.strictObject({
  url: Url,
  method: z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]).default("GET"),
  headers: z
    .record(
      HeaderName,
      z
        .string()
        .max(8_192)
        .regex(/^[\t\x20-\x7e]*$/),
    )
    .default({})
    .describe("Beside those that every request has."),
  body: z.string().max(8_388_608).optional(),
  as: z.enum(["auto", "text", "base64"]).default("auto").describe("By default text where the content is text."),
  max_bytes: z.int().min(0).max(268_435_456).optional().describe("The rest is left out, and said to be."),
});
