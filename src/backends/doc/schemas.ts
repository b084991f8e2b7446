import { z } from "zod";

const Id = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^#\p{Cc}]*$/u, { error: "an id has neither # nor control characters in it" });
const Word = z.string().trim().min(1).max(4_096);
const oneOrMany = <T extends z.ZodType>(schema: T) => z.union([schema, z.array(schema).min(1).max(256)]);

export const IngestParams = z
  .strictObject({
    id: Id.optional().describe("What the document is called from then on; its name, or else a digest, by default."),
    name: z.string().min(1).max(1_024).optional().describe("The file's name, whose ending may say the type."),
    text: z.string().optional(),
    base64: z.base64().optional(),
    media_type: z.string().max(256).optional(),
    title: z.string().min(1).max(1_024).optional(),
  })
  .refine(({ text, base64 }) => (text === undefined) !== (base64 === undefined), {
    error: "send either text or base64",
    path: ["text"],
  });

const DOCUMENT = {
  document: oneOrMany(Id).optional().describe("Which documents; all that there are by default."),
  seed_path: Id.optional().describe("The known name for one document: its id, never a path on the server."),
};

export const SearchParams = z.strictObject({
  key_words: oneOrMany(Word).describe("What is looked for; several together."),
  max_search_results: z.int().min(1).max(1_000).optional(),
  ...DOCUMENT,
});

export const ReadParams = z.strictObject({
  section_ids: oneOrMany(z.string().min(1).max(512))
    .optional()
    .describe("As doc:search gives them; a section comes with those below it. Without and without pages: the outline."),
  pages: z
    .string()
    .regex(/^\d{1,6}(?:-\d{1,6})?(?:\s*,\s*\d{1,6}(?:-\d{1,6})?){0,63}$/, { error: "write pages as 2-4,7" })
    .optional()
    .describe("Pages of a PDF, sheets of an XLSX: 2-4,7."),
  goal: z
    .string()
    .max(4_096)
    .optional()
    .describe("What is looked for; a model then reads for it, where the server has one."),
  max_text_token: z.int().min(1).max(1_000_000).optional().describe("The rest is left out, and said to be."),
  max_image_num: z
    .int()
    .min(0)
    .max(100)
    .optional()
    .describe("Figures that are given, and shown to the model, at most."),
  ...DOCUMENT,
});

export const DeleteParams = z.strictObject({ document: oneOrMany(Id) });
