const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Writes a text so that it may stand in XML, between tags and in attributes. */
export function escapeXml(text: string): string {
  // Control characters have no place in XML, escaped or not.
  return text.replace(/[\p{Cc}\ufffe\uffff]+/gu, " ").replace(/[&<>"]/g, (character) => ENTITIES[character] ?? "");
}
