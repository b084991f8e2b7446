import type { Metric } from "./metric.ts";
import { checkImageSize, checkStructureSimilarity, compareImages, imageSimilarity } from "./metrics/image-metrics.ts";
import { checkDirectJsonObject, checkJson, compareJson } from "./metrics/json-metrics.ts";
import { fileAbsent, fileExists } from "./metrics/presence-metrics.ts";
import { isExpectedActiveTab, isExpectedTabs, isExpectedUrlPatternMatch } from "./metrics/tab-metrics.ts";
import { checkCsv, compareCsv, compareTable } from "./metrics/table-metrics.ts";
import * as text from "./metrics/text-metrics.ts";
import { checkAccessibilityTree } from "./metrics/tree-metrics.ts";

/** Every metric by its name in an evaluator's `func`; OSWorld's names where it has one. */
export const METRICS = {
  exact_match: text.exactMatch,
  match_in_list: text.matchInList,
  is_in_list: text.isInList,
  literal_match: text.literalMatch,
  fuzzy_match: text.fuzzyMatch,
  check_include_exclude: text.checkIncludeExclude,
  check_regex: text.checkRegex,
  check_list: text.checkList,
  file_contains: text.fileContains,
  compare_text_file: text.compareTextFile,
  diff_text_file: text.diffTextFile,
  check_json: checkJson,
  check_direct_json_object: checkDirectJsonObject,
  compare_json: compareJson,
  compare_table: compareTable,
  compare_csv: compareCsv,
  check_csv: checkCsv,
  compare_images: compareImages,
  image_similarity: imageSimilarity,
  check_structure_sim: checkStructureSimilarity,
  check_image_size: checkImageSize,
  is_expected_active_tab: isExpectedActiveTab,
  is_expected_tabs: isExpectedTabs,
  is_expected_url_pattern_match: isExpectedUrlPatternMatch,
  check_accessibility_tree: checkAccessibilityTree,
  file_exists: fileExists,
  file_absent: fileAbsent,
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricName = keyof typeof METRICS;
