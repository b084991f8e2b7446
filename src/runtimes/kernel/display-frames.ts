import type { Display } from "../../core/display.ts";
import { ProtocolViolation } from "./frame.ts";

const MEDIA_TYPES = ["image/png", "image/jpeg", "image/svg+xml"] as const;
const TEXT_FORMS = ["text", "html", "markdown"] as const;

/** What code showed, as an `end` tells it. */
export interface WireDisplay {
  readonly result: boolean;
  readonly text?: string;
  readonly html?: string;
  readonly markdown?: string;
  readonly json?: unknown;
  readonly image?: { readonly media_type: (typeof MEDIA_TYPES)[number]; readonly data: string };
  readonly table?: {
    readonly columns: readonly string[];
    readonly rows: readonly (readonly unknown[])[];
    readonly total_rows: number;
    readonly truncated: boolean;
  };
  readonly omitted: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Checks the displays of an `end`.
 *
 * @throws ProtocolViolation for anything that is not as {@link WireDisplay} says.
 */
export function parseDisplays(value: unknown): readonly WireDisplay[] {
  if (!Array.isArray(value)) throw wrong("displays");
  // The common case: nothing was shown.
  return value.length === 0 ? [] : value.map(parseDisplay);
}

/** Names a display's fields as the ports do. */
export function toDisplay({ result, image, table, ...forms }: WireDisplay): Display {
  return {
    ...forms,
    isResult: result,
    ...(image === undefined ? {} : { image: { mediaType: image.media_type, base64: image.data } }),
    ...(table === undefined
      ? {}
      : {
          table: {
            columns: table.columns,
            rows: table.rows,
            totalRows: table.total_rows,
            truncated: table.truncated,
          },
        }),
  };
}

function parseDisplay(value: unknown): WireDisplay {
  if (!isFields(value)) throw wrong("displays");
  const { result, omitted } = value;
  if (typeof result !== "boolean") throw wrong("result");
  if (!isTexts(omitted)) throw wrong("omitted");
  const texts: { text?: string; html?: string; markdown?: string } = {};
  for (const form of TEXT_FORMS) {
    const text = value[form];
    if (text === undefined) continue;
    if (typeof text !== "string") throw wrong(form);
    texts[form] = text;
  }
  return {
    result,
    omitted,
    ...texts,
    ...(value["json"] === undefined ? {} : { json: value["json"] }),
    ...(value["image"] === undefined ? {} : { image: parseImage(value["image"]) }),
    ...(value["table"] === undefined ? {} : { table: parseTable(value["table"]) }),
  };
}

function parseImage(value: unknown): NonNullable<WireDisplay["image"]> {
  if (!isFields(value)) throw wrong("image");
  const { data } = value;
  const mediaType = MEDIA_TYPES.find((known) => known === value["media_type"]);
  // Only what is base64 may go on into data URLs.
  if (mediaType === undefined || typeof data !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(data)) throw wrong("image");
  return { media_type: mediaType, data };
}

function parseTable(value: unknown): NonNullable<WireDisplay["table"]> {
  if (!isFields(value)) throw wrong("table");
  const { columns, rows, total_rows, truncated } = value;
  if (!isTexts(columns) || !Array.isArray(rows)) throw wrong("table");
  for (const row of rows) if (!Array.isArray(row) || row.length !== columns.length) throw wrong("table");
  if (typeof total_rows !== "number" || !Number.isSafeInteger(total_rows) || total_rows < 0) throw wrong("table");
  if (typeof truncated !== "boolean") throw wrong("table");
  return { columns, rows, total_rows, truncated };
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
const wrong = (key: string): ProtocolViolation =>
  new ProtocolViolation(`a display's field "${key}" is missing or wrong`);
