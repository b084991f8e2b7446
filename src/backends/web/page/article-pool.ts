import { READER_LIMITS, runReader, SMALL_HTML } from "../../../documents/reader-pool.ts";
import { ProcessPool } from "../../../processes/process-pool.ts";
import type { ArticleJob } from "./jobs.ts";
import { type Article, readArticle } from "./read-article.ts";

const JOBS = new URL(`./jobs${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
const IDLE_MS = 60_000;

/** Starts nothing before the first page, and keeps nothing a minute after the last. */
const pool = new ProcessPool({ module: JOBS, maxProcesses: 2, idleMs: IDLE_MS });

/**
 * Reads a page of HTML where nobody waits for it: 128 kB can be written so that the libraries take ten seconds, and a few
 * megabytes so that they never end.
 *
 * @throws ToolyardError `timeout`; `limit_exceeded` (`memory_mib`); `dependency_failed`; the signal's reason
 */
export async function readArticleApart(
  html: string,
  url: URL,
  options: { readonly whole: boolean; readonly signal: AbortSignal; readonly owner: string },
): Promise<Article> {
  const { whole, signal, owner } = options;
  if (html.length <= SMALL_HTML) return readArticle(html, url, whole);
  const job: ArticleJob = { html, url: url.href, whole };
  // What the job "article" answers.
  return (await runReader(pool, "article", job, { ...READER_LIMITS, signal, owner })) as Article;
}
