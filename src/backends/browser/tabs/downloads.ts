import type { Browser, CDPSession } from "puppeteer-core";

/** A file that a page gave. */
export interface Download {
  readonly id: string;
  readonly url: string;
  /** As the page suggests. */
  readonly filename: string;
  /** In the sandbox. */
  readonly path: string;
  state: "inProgress" | "completed" | "canceled";
  bytes: number;
  total_bytes: number | null;
}

const KEPT = 500;

/** Keeps what pages download in a folder of the sandbox, each file under an id of its own. */
export class Downloads {
  readonly #downloads = new Map<string, Download>();
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async watch(browser: Browser, folder: string): Promise<Downloads> {
    const downloads = new Downloads(folder);
    const protocol = await browser.target().createCDPSession();
    await protocol.send("Browser.setDownloadBehavior", {
      behavior: "allowAndName",
      downloadPath: folder,
      eventsEnabled: true,
    });
    downloads.#listen(protocol);
    return downloads;
  }

  list(): readonly Download[] {
    return [...this.#downloads.values()];
  }

  get(id: string): Download | undefined {
    return this.#downloads.get(id);
  }

  #listen(protocol: CDPSession): void {
    protocol.on("Browser.downloadWillBegin", ({ guid, url, suggestedFilename }) => {
      const facts = { id: guid, url: url.slice(0, 4_000), filename: suggestedFilename.slice(0, 255) };
      this.#downloads.set(guid, {
        ...facts,
        path: `${this.folder}/${guid}`,
        state: "inProgress",
        bytes: 0,
        total_bytes: null,
      });
      for (const oldest of this.#downloads.keys()) {
        if (this.#downloads.size <= KEPT) break;
        this.#downloads.delete(oldest);
      }
    });
    protocol.on("Browser.downloadProgress", ({ guid, state, receivedBytes, totalBytes }) => {
      const download = this.#downloads.get(guid);
      if (download === undefined) return;
      download.state = state;
      download.bytes = receivedBytes;
      download.total_bytes = totalBytes > 0 ? totalBytes : null;
    });
  }
}
