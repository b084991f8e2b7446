import type { Protocol } from "puppeteer-core";

const MAX_VALUES = 100;

/** What a page wrote, its values one after another as a console shows them. */
export function showValues(values: readonly Protocol.Runtime.RemoteObject[]): string {
  return values.slice(0, MAX_VALUES).map(showValue).join(" ");
}

function showValue(value: Protocol.Runtime.RemoteObject): string {
  const { type, subtype, preview, description, unserializableValue } = value;
  if (type === "string") return String(value.value);
  if (preview !== undefined && subtype !== "error" && subtype !== "node") return showPreview(preview);
  if (description !== undefined) return description;
  return unserializableValue ?? String(value.value);
}

function showPreview({ subtype, description, properties, overflow }: Protocol.Runtime.ObjectPreview): string {
  const isArray = subtype === "array";
  const shown = properties.map(({ name, type, value = "" }) => {
    const text = type === "string" ? JSON.stringify(value) : value;
    return isArray ? text : `${name}: ${text}`;
  });
  const all = [...shown, ...(overflow ? ["…"] : [])].join(", ");
  if (isArray) return `[${all}]`;
  const name = description === undefined || description === "Object" ? "" : `${description} `;
  return `${name}{${all}}`;
}
