import type { FileProfile } from "./jobs/profile.ts";

const NAMED = 5;

/** Tells what a file holds in sentences, as the known tool does. */
export function toProfileText(profile: FileProfile): string {
  const { file, sheet, rows, columns, error, note } = profile;
  const title = sheet === null ? file : `${file} (${sheet})`;
  if (columns === undefined || rows === undefined) return `${title}:\nError processing file - ${error ?? "unknown"}`;
  const names = columns.map(({ name }) => name);
  const listed = names.slice(0, NAMED).join(", ");
  const others = names.length > NAMED ? `, and ${names.length - NAMED} others` : "";
  const numeric = columns.filter((column) => column.is_numeric);
  const example = numeric[0] === undefined ? "" : ` (e.g., ${numeric[0].name})`;
  const sentences = [
    `This dataset contains ${rows} rows and ${columns.length + (profile.columns_omitted ?? 0)} columns.`,
    `Key attributes include: [${listed}${others}].`,
    `It has ${numeric.length} numeric fields${example} and ${columns.length - numeric.length} categorical fields.`,
    toQuality(profile),
    ...(note === null || note === undefined ? [] : [`It was ${note}.`]),
  ];
  return `${title}:\n${sentences.join(" ")}`;
}

function toQuality({ missing_values: missing = 0, duplicates }: FileProfile): string {
  const issues = [
    ...(missing > 0 ? [`${missing} missing values`] : []),
    ...(typeof duplicates === "number" && duplicates > 0 ? [`${duplicates} duplicates`] : []),
  ];
  return issues.length === 0
    ? "Data quality is high (no missing values or duplicates)."
    : `Data requires cleaning: found ${issues.join(", ")}.`;
}
