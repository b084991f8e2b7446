import { z } from "zod";

export const Tab = z.int().min(1).optional().describe("The tab's number; the current tab by default.");
export const TimeoutMs = z
  .int()
  .min(1)
  .max(600_000)
  .optional()
  .describe("Milliseconds; the server's default when absent.");
const Selector = z.string().min(1).max(4_096);
const Ref = z.string().regex(/^e\d{1,9}$/);

/** How an element is named: by a snapshot's ref, or by a selector that is waited for. */
export const Element = {
  ref: Ref.optional().describe("Of an element in the last browser:snapshot, as e3."),
  selector: Selector.optional().describe("A CSS selector, or ::-p-text(Save) and ::-p-aria(Save); waited for."),
};

export const isOne = ({ ref, selector }: { readonly ref?: unknown; readonly selector?: unknown }) =>
  (ref === undefined) !== (selector === undefined);
export const isNoneOrOne = ({ ref, selector }: { readonly ref?: unknown; readonly selector?: unknown }) =>
  ref === undefined || selector === undefined;
export const ONE = { error: "name the element by either ref or selector" };

/** Where a tab is after what was done in it. */
export const PageState = z.object({ tab: z.number(), url: z.string(), title: z.string() });

export const WaitUntil = z
  .enum(["load", "domcontentloaded", "networkidle"])
  .default("load")
  .describe("What ends the waiting for the page; networkidle: nothing asked for during half a second.");

export const NavigateParams = z.strictObject({
  url: z.string().min(1).max(65_536).describe("http:, https:, data: or about:; file: for the sandbox's own files."),
  wait_until: WaitUntil,
  tab: Tab,
  timeout_ms: TimeoutMs,
});
export const Navigated = PageState.extend({
  status: z.number().nullable().describe("Of the page's own answer; null where there is none, as for data:."),
});
export const HistoryParams = z.strictObject({ wait_until: WaitUntil, tab: Tab, timeout_ms: TimeoutMs });

export const RenderParams = z.strictObject({
  url: z.string().min(1).max(65_536),
  wait_until: WaitUntil,
  max_characters: z.int().min(1).max(10_000_000).default(5_000_000),
  timeout_ms: TimeoutMs,
});
export const RenderResult = z.object({
  url: z.string().describe("Where the page is after all redirects."),
  title: z.string(),
  status: z.number().nullable(),
  html: z.string().describe("The page as its scripts have made it."),
});

const Modifier = z.enum(["Alt", "Control", "Meta", "Shift"]);
export const ClickParams = z
  .strictObject({
    ...Element,
    x: z.number().min(0).optional().describe("In CSS pixels of what is seen, in place of an element."),
    y: z.number().min(0).optional(),
    button: z.enum(["left", "right", "middle"]).default("left"),
    count: z.int().min(1).max(3).default(1),
    modifiers: z.array(Modifier).max(4).default([]),
    tab: Tab,
    timeout_ms: TimeoutMs,
  })
  .refine((params) => (params.x === undefined) === (params.y === undefined), { error: "x and y belong together" })
  .refine(
    (params) => (params.x === undefined ? isOne(params) : params.ref === undefined && params.selector === undefined),
    {
      error: "name the place by ref, by selector, or by x and y",
    },
  );
export const HoverParams = z.strictObject({ ...Element, tab: Tab, timeout_ms: TimeoutMs }).refine(isOne, ONE);
export const FillParams = z
  .strictObject({
    ...Element,
    value: z
      .union([z.string().max(1_000_000), z.boolean(), z.array(z.string().max(4_096)).max(1_000)])
      .describe("Text; true or false for a box to check; for a list, the values or labels to select."),
    submit: z.boolean().default(false).describe("Press Enter afterwards."),
    tab: Tab,
    timeout_ms: TimeoutMs,
  })
  .refine(isOne, ONE);
export const PressParams = z
  .strictObject({
    key: z.string().min(1).max(64).describe("As Enter, ArrowDown, a, or Control+Shift+T."),
    ...Element,
    repeat: z.int().min(1).max(100).default(1),
    tab: Tab,
    timeout_ms: TimeoutMs,
  })
  .refine(isNoneOrOne, ONE);
export const ScrollParams = z
  .strictObject({
    ...Element,
    dx: z.number().min(-100_000).max(100_000).default(0),
    dy: z
      .number()
      .min(-100_000)
      .max(100_000)
      .default(0)
      .describe("CSS pixels downwards; with an element, it is brought into view."),
    tab: Tab,
    timeout_ms: TimeoutMs,
  })
  .refine(isNoneOrOne, ONE);
export const UploadParams = z
  .strictObject({
    ...Element,
    paths: z.array(z.string().min(1).max(4_096)).min(1).max(64).describe("Files of the sandbox."),
    tab: Tab,
    timeout_ms: TimeoutMs,
  })
  .refine(isOne, ONE);

const Characters = z.int().min(1).max(1_000_000).default(20_000);
export const TextParams = z
  .strictObject({
    ...Element,
    offset: z.int().min(0).default(0),
    max_characters: Characters,
    tab: Tab,
    timeout_ms: TimeoutMs,
  })
  .refine(isNoneOrOne, ONE);
export const TextResult = PageState.extend({
  text: z.string(),
  characters: z.number().describe("Of all of it."),
  next_offset: z.number().nullable(),
});
export const SnapshotParams = z.strictObject({
  max_elements: z.int().min(1).max(10_000).default(1_000),
  max_depth: z.int().min(1).max(1_000).default(100),
  tab: Tab,
});
export const SnapshotResult = PageState.extend({
  snapshot: z.string().describe("A line an element, indented by depth, with its ref."),
  elements: z.number(),
  truncated: z.boolean(),
});
export const ScreenshotParams = z
  .strictObject({
    ...Element,
    full_page: z.boolean().default(false),
    format: z.enum(["png", "jpeg", "webp"]).default("png"),
    quality: z.int().min(1).max(100).optional().describe("Of jpeg and webp."),
    tab: Tab,
    timeout_ms: TimeoutMs,
  })
  .refine(isNoneOrOne, ONE);
export const ScreenshotResult = PageState.extend({ media_type: z.string(), base64: z.string() });
export const EvaluateParams = z
  .strictObject({
    expression: z
      .string()
      .min(1)
      .max(1_000_000)
      .describe("JavaScript, whose value is awaited; with an element, a function of it: (element) => element.value."),
    ...Element,
    tab: Tab,
    timeout_ms: TimeoutMs,
  })
  .refine(isNoneOrOne, ONE);
export const EvaluateResult = PageState.extend({ value: z.unknown() });

export const WaitForParams = z
  .strictObject({
    selector: Selector.optional(),
    gone: z.boolean().default(false).describe("Wait until the selector or the text is not there any more."),
    text: z.string().min(1).max(10_000).optional().describe("That the page shows."),
    url: z.string().min(1).max(4_096).optional().describe("That the page's address contains."),
    expression: z.string().min(1).max(100_000).optional().describe("JavaScript that becomes truthy."),
    network_idle: z.boolean().default(false),
    tab: Tab,
    timeout_ms: TimeoutMs,
  })
  .refine(
    ({ selector, text, url, expression, network_idle: idle }) =>
      [selector, text, url, expression, idle || undefined].filter((one) => one !== undefined).length === 1,
    { error: "wait for one of selector, text, url, expression, network_idle" },
  );

export const TabEntry = PageState.extend({ current: z.boolean() });
export const TabsResult = z.object({ tabs: z.array(TabEntry) });
export const NewTabParams = z.strictObject({ url: z.string().min(1).max(65_536).optional(), timeout_ms: TimeoutMs });
export const TabParams = z.strictObject({ tab: Tab });

export const Cookie = z.looseObject({
  name: z.string().max(4_096),
  value: z.string().max(65_536),
  domain: z.string().max(1_024),
  path: z.string().max(4_096).default("/"),
  expires: z.number().optional().describe("Seconds since 1970; -1 or absent for the session's end."),
  httpOnly: z.boolean().optional(),
  secure: z.boolean().optional(),
  sameSite: z.enum(["Strict", "Lax", "None"]).optional(),
});
export type Cookie = z.infer<typeof Cookie>;
export const CookiesResult = z.object({ cookies: z.array(Cookie) });
export const SetCookiesParams = z.strictObject({ cookies: z.array(Cookie).min(1).max(1_000) });
export const StorageState = z.object({
  cookies: z.array(Cookie).max(10_000),
  origins: z
    .array(
      z.object({
        origin: z.string().max(1_024),
        localStorage: z.array(z.object({ name: z.string(), value: z.string() })).max(10_000),
      }),
    )
    .max(1_000),
});
export type StorageState = z.infer<typeof StorageState>;
export const StateResult = z.object({ state: StorageState });
export const LoadStateParams = z.strictObject({ state: StorageState });

export const DownloadEntry = z.object({
  id: z.string(),
  url: z.string(),
  filename: z.string(),
  path: z.string(),
  state: z.enum(["inProgress", "completed", "canceled"]),
  bytes: z.number(),
  total_bytes: z.number().nullable(),
});
export const DownloadsResult = z.object({ downloads: z.array(DownloadEntry) });
export const ReadDownloadParams = z.strictObject({
  id: z.string().min(1).max(128),
  offset: z.int().min(0).default(0),
  length: z
    .int()
    .min(1)
    .max(4 * 1024 * 1024)
    .default(1024 * 1024),
});
export const ReadDownloadResult = DownloadEntry.extend({ base64: z.string(), next_offset: z.number().nullable() });

export const LogParams = z.strictObject({
  after: z.int().min(0).default(0).describe("The index of the last entry that was seen."),
  limit: z.int().min(1).max(1_000).default(100).describe("The newest so many."),
});
export const ConsoleResult = z.object({
  entries: z.array(
    z.object({
      index: z.number(),
      tab: z.number(),
      type: z.string(),
      text: z.string(),
      url: z.string().nullable(),
      line: z.number().nullable(),
    }),
  ),
});
export const NetworkResult = z.object({
  entries: z.array(
    z.object({
      index: z.number(),
      tab: z.number(),
      method: z.string(),
      url: z.string(),
      type: z.string(),
      status: z.number().nullable(),
      media_type: z.string().nullable(),
      error: z.string().nullable(),
    }),
  ),
});
