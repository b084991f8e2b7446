import type { getDocumentProxy } from "unpdf";

type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>;
type Bookmark = Awaited<ReturnType<PdfDocument["getOutline"]>>[number];

/** Bookmarks that are looked up, and titles that one page is given. */
const MAX_BOOKMARKS = 1_000;
const MAX_PER_PAGE = 3;

/** The titles that a PDF's bookmarks give its pages, by the number of the page. */
export async function readBookmarks(document: PdfDocument): Promise<ReadonlyMap<number, readonly string[]>> {
  const titles = new Map<number, string[]>();
  // A document without any answers null, whatever its type says.
  const open: Bookmark[] = [...((await document.getOutline()) ?? [])];
  for (let count = 0; open.length > 0 && count < MAX_BOOKMARKS; count += 1) {
    const [{ title, dest, items }] = open.splice(0, 1) as [Bookmark];
    open.unshift(...items);
    // One after another, so that pages keep the order of their titles.
    // oxlint-disable-next-line no-await-in-loop
    const page = await pageOf(document, dest);
    const known = titles.get(page) ?? [];
    if (title.trim() !== "" && known.length < MAX_PER_PAGE) titles.set(page, [...known, title.trim()]);
  }
  return titles;
}

/** The number of the page that a bookmark leads to; 0 where it leads to none. */
async function pageOf(document: PdfDocument, destination: Bookmark["dest"]): Promise<number> {
  try {
    const [page]: unknown[] =
      (typeof destination === "string" ? await document.getDestination(destination) : destination) ?? [];
    if (typeof page === "number") return page + 1;
    if (typeof page !== "object" || page === null || !("num" in page) || !("gen" in page)) return 0;
    return (await document.getPageIndex({ num: Number(page.num), gen: Number(page.gen) })) + 1;
  } catch {
    // Bookmarks that lead nowhere cost nothing but themselves.
    return 0;
  }
}
