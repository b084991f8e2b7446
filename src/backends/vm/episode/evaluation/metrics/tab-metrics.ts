import { z } from "zod";
import { brief, failed, type Metric, readExpected, toJson, toPattern, verdict } from "../metric.ts";
import { isRecord } from "./equality.ts";

/** The browser shows this address in front. */
export const isExpectedActiveTab: Metric = {
  judge(input) {
    const { url } = readExpected(input, z.looseObject({ url: z.string() }));
    const found = toUrl(toJson(input.result, "result"));
    return verdict(toPlain(found) === toPlain(url), `it is ${brief(found)}`);
  },
};

/** The browser has these addresses open, in this order. */
export const isExpectedTabs: Metric = {
  judge(input) {
    const { urls } = readExpected(input, z.looseObject({ urls: z.array(z.string()) }));
    const value = toJson(input.result, "result");
    const found = (Array.isArray(value) ? value : []).map(toUrl);
    const isSame =
      found.length === urls.length && found.every((one, index) => toPlain(one) === toPlain(urls[index] ?? ""));
    return verdict(isSame, `they are ${brief(found)}`);
  },
};

/** The address in front matches all of some regular expressions. */
export const isExpectedUrlPatternMatch: Metric = {
  judge(input) {
    const { expected } = readExpected(input, z.looseObject({ expected: z.array(z.string()).min(1) }));
    const found = toUrl(toJson(input.result, "result"));
    const lacking = expected.find((pattern) => !toPattern(pattern).test(found));
    return lacking === undefined ? { score: 1 } : failed(`${brief(found)} does not match ${brief(lacking)}`);
  },
};

function toUrl(tab: unknown): string {
  if (typeof tab === "string") return tab;
  return isRecord(tab) && typeof tab["url"] === "string" ? tab["url"] : "";
}

/** Without what makes no difference to where an address leads. */
function toPlain(url: string): string {
  const full = /^[a-z][a-z0-9+.-]*:/i.test(url) ? url : `https://${url}`;
  if (!URL.canParse(full)) return url;
  const { protocol, host, pathname, search, hash } = new URL(full);
  return `${protocol}//${host.replace(/^www\./, "")}${pathname.replace(/\/$/, "")}${search}${hash}`;
}
