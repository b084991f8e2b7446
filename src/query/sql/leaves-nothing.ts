import type { Statement } from "./statement.ts";

/** What a query that leaves nothing begins with. */
const VERBS = new Set(["SELECT", "WITH", "FROM", "VALUES", "TABLE"]);

/** What may stand before a parenthesis: words of SQL, types, and functions that do nothing but compute. */
const HARMLESS = new Set(
  [
    "select from where and or not in exists any all some as on using over filter values by having distinct union except",
    "intersect join lateral between like ilike is within when then else case limit offset end partition order group sets",
    "grouping rollup cube row interval qualify returning materialized glob escape",
    "decimal numeric varchar char character",
    "count count_if countif sum avg mean min max median mode stddev stddev_pop stddev_samp variance var_pop var_samp product",
    "quantile quantile_cont quantile_disc percentile_cont percentile_disc approx_count_distinct first last any_value arg_min",
    "arg_max argmin argmax min_by max_by string_agg group_concat listagg array_agg list bool_and bool_or corr covar_pop covar_samp",
    "row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value",
    "abs ceil ceiling floor round trunc sqrt cbrt exp ln log log2 log10 pow power mod sign greatest least coalesce ifnull nullif",
    "if iif isnan isinf typeof cast try_cast lower upper length len strlen substr substring left right trim ltrim rtrim replace",
    "concat concat_ws position strpos instr lpad rpad reverse contains starts_with ends_with prefix suffix regexp_matches",
    "regexp_replace regexp_extract split_part string_split str_split string_to_array format printf",
    "extract date_part datepart date_trunc datetrunc date_diff datediff date_add date_sub age year month day hour minute second",
    "quarter week dayofweek dayofyear weekday isodow strftime strptime make_date epoch dayname monthname last_day",
    "list_contains list_value array_length unnest range generate_series",
  ].flatMap((line) => line.split(" ")),
);

/**
 * Whether a query of DuckDB surely leaves nothing in the engine that another could find.
 *
 * Queries that read can call functions which do: `enable_logging` keeps what all connections ask, `query` runs a text. Engines
 * have hundreds of functions and get more, so those that are known to do nothing are named, and all others are not trusted.
 */
export function leavesNothing({ verb, tokens }: Statement): boolean {
  return VERBS.has(verb) && callsNothing(tokens);
}

/** Whether what a database's file holds (the text that made a view or a table) surely leaves nothing when it is read. */
export function isHarmlessDefinition({ tokens }: Statement): boolean {
  const words = tokens.flatMap(({ kind, text }) => (kind === "word" ? [text.toLowerCase()] : []));
  // A table's columns are only computed when it is read where they are generated; what made a view is run.
  return words[1] === "table" ? !words.includes("generated") : words[1] === "view" && callsNothing(tokens);
}

function callsNothing(tokens: Statement["tokens"]): boolean {
  return tokens.every(({ kind, text }, index) => {
    const next = tokens[index + 1];
    if (next?.kind !== "mark" || next.text !== "(") return true;
    return kind === "mark" || (kind === "word" && HARMLESS.has(text.toLowerCase()));
  });
}
