import { Backend, type BackendSetup } from "../../core/backend.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { Outbound } from "../../core/outbound.ts";
import { type BoundTool, scanTools } from "../../core/tool.ts";
import { WebConfig } from "./config.ts";
import { FetchTools } from "./fetch-tools.ts";
import { PageFetcher } from "./http/fetch-page.ts";
import { Robots } from "./http/robots.ts";
import { PageReader } from "./page/page-reader.ts";
import { SearchEngine } from "./search/search-engine.ts";
import { SearchTools } from "./search-tools.ts";
import { VisitTools } from "./visit-tools.ts";

/** Searches the web and reads it. It has no sessions; what it keeps for a while it keeps by tenant. */
export default class WebBackend extends Backend {
  readonly resource = "web";
  override readonly concurrency = "parallel";
  override readonly description =
    "Search by several providers, pages as Markdown, plain HTTP requests to public hosts.";
  override readonly configSchema = WebConfig;
  readonly #groups: readonly object[];

  constructor(setup: BackendSetup, clock: Clock = systemClock) {
    super(setup);
    // A wrong config is reported by whoever checks it against the schema, with the file and the key.
    const config = WebConfig.safeParse(setup.config).data ?? WebConfig.parse({});
    const fetcher = new PageFetcher(openOutbound(setup, config), config.http, clock);
    const robots = new Robots(fetcher, config.http, clock);
    const reader = new PageReader(fetcher, robots, config, clock);
    const model = config.model && setup.openChatModel?.(config.model);
    this.#groups = [
      new SearchTools(new SearchEngine(config, clock), config),
      new VisitTools(reader, config, model),
      new FetchTools(fetcher, robots, config),
    ];
  }

  override tools(): ReadonlyMap<string, BoundTool> {
    return scanTools(...this.#groups);
  }
}

function openOutbound({ openOutbound: open }: BackendSetup, { http }: WebConfig): Outbound {
  if (open !== undefined) return open({ ports: http.ports, privateHosts: http.private_hosts });
  const refuse = async () => {
    throw new ToolyardError("dependency_failed", "this backend was given no way out", { retryable: false });
  };
  return { connect: refuse, check: refuse };
}
