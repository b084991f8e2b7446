import { type Article, readArticle } from "./read-article.ts";

/** A page of HTML on its way to another process. */
export interface ArticleJob {
  readonly html: string;
  readonly url: string;
  readonly whole: boolean;
}

/** What runs in the processes of the pool: everything here may hold its thread and its memory. */
export const jobs = {
  article: ({ html, url, whole }: ArticleJob): Promise<Article> => readArticle(html, new URL(url), whole),
};
