// What code shows beside its output: `display(…)`, `console.table`, and values that bring rich forms of their own.
import { inspect } from "node:util";
import { clip } from "./node_text.mjs";
import { toJson } from "./node_values.mjs";

// As Deno's kernel has it: a method that answers a bundle of MIME type → content.
const RICH = Symbol.for("Jupyter.display");
const FORMS = { "text/plain": "text", "text/html": "html", "text/markdown": "markdown" };
const IMAGES = ["image/png", "image/jpeg", "image/svg+xml"];
const MAX_ROWS = 200;
const MAX_COLUMNS = 50;
// A frame must hold a display whole.
const MAX_FORM_BYTES = 4 * 1024 * 1024;

export function createDisplays(send, resultBytes) {
  const limit = Math.min(resultBytes, MAX_FORM_BYTES);
  const show = (forms, isResult = false) => {
    const kept = {};
    const omitted = [];
    let left = limit;
    for (const [form, content] of Object.entries(forms)) {
      const size = Buffer.byteLength(JSON.stringify(content));
      if (size > left) omitted.push(form);
      else {
        kept[form] = content;
        left -= size;
      }
    }
    send({ ...kept, result: isResult, omitted });
  };
  const display = (...values) => {
    for (const value of values) show({ text: toText(value), ...(toRich(value, limit) ?? toForms(value, limit)) });
  };
  Object.assign(display, {
    text: (text) => show({ text: clip(String(text)) }),
    html: (html) => show({ html: String(html) }),
    markdown: (markdown) => show({ markdown: String(markdown) }),
    svg: (svg) => show({ image: { media_type: "image/svg+xml", data: toBase64(String(svg)) } }),
    json: (value) => show({ json: toJson(value, limit)[0] }),
    image: (data, mediaType) => {
      const image = toImage(data, mediaType);
      if (image === undefined) throw new TypeError("an image is a PNG or JPEG, as bytes or base64");
      show({ image });
    },
    table: (rows) => {
      const table = toTable(rows);
      if (table === undefined) throw new TypeError("a table is an array of rows");
      show({ text: toText(rows), table });
    },
  });
  const printTable = console.table.bind(console);
  console.table = (rows, columns) => {
    printTable(rows, columns);
    const table = toTable(rows, columns);
    if (table !== undefined) show({ table });
  };
  return {
    display,
    showResult(value, text) {
      const forms = toRich(value, limit);
      if (forms !== undefined) show({ text, ...forms }, true);
    },
  };
}

const toText = (value) => clip(typeof value === "string" ? value : inspect(value, { depth: 4 }));
const toBase64 = (data) => Buffer.from(data).toString("base64");

function toRich(value, limit) {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  try {
    const bundle = typeof value[RICH] === "function" ? value[RICH]() : undefined;
    if (typeof bundle !== "object" || bundle === null) return undefined;
    const forms = {};
    for (const [mime, content] of Object.entries(bundle)) {
      if (mime === "application/json") forms.json = toJson(content, limit)[0];
      else if (Object.hasOwn(FORMS, mime)) forms[FORMS[mime]] = clip(String(content), limit);
      else if (IMAGES.includes(mime)) forms.image ??= toImage(content, mime);
    }
    return forms.image === undefined
      ? Object.fromEntries(Object.entries(forms).filter(([form]) => form !== "image"))
      : forms;
  } catch {
    return undefined;
  }
}

function toForms(value, limit) {
  if (value instanceof Uint8Array) {
    const image = toImage(value);
    return image === undefined ? {} : { image };
  }
  if (typeof value !== "object" || value === null) return {};
  const [json, , lossy] = toJson(value, limit);
  return json === null || lossy.length > 0 ? {} : { json };
}

/** Takes bytes, base64 or (for SVG) text; `undefined` when it is no image. */
function toImage(data, mediaType) {
  if (mediaType === "image/svg+xml") return { media_type: mediaType, data: toBase64(String(data)) };
  if (typeof data !== "string" && !(data instanceof Uint8Array)) return undefined;
  const bytes = typeof data === "string" ? Buffer.from(data.replace(/^data:[^,]*,/, ""), "base64") : Buffer.from(data);
  if (bytes.subarray(0, 4).toString("latin1") === "\x89PNG") return { media_type: "image/png", data: toBase64(bytes) };
  if (bytes[0] === 0xff && bytes[1] === 0xd8) return { media_type: "image/jpeg", data: toBase64(bytes) };
  return undefined;
}

/** The start of what `console.table` takes: an array of objects, arrays or plain values. */
function toTable(rows, chosen) {
  if (!Array.isArray(rows)) return undefined;
  const head = rows.slice(0, MAX_ROWS);
  const names = new Set();
  for (const row of head) {
    if (typeof row !== "object" || row === null) names.add("value");
    else for (const name of Object.keys(row)) if (names.size <= MAX_COLUMNS) names.add(name);
  }
  const all = Array.isArray(chosen) ? chosen.map(String) : [...names];
  const columns = all.slice(0, MAX_COLUMNS);
  const cell = (row, name) => {
    const value = typeof row === "object" && row !== null ? row[name] : name === "value" ? row : undefined;
    return toJson(value, MAX_FORM_BYTES)[0];
  };
  return {
    columns,
    rows: head.map((row) => columns.map((name) => cell(row, name))),
    total_rows: rows.length,
    truncated: rows.length > MAX_ROWS || all.length > MAX_COLUMNS,
  };
}
