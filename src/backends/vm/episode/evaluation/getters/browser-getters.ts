import http from "node:http";
import type { Duplex } from "node:stream";
import { z } from "zod";
import { ToolyardError } from "../../../../../core/errors.ts";
import { abilityOf } from "../../../desktop/desktop-ability.ts";
import { defineGetter, json, missing, type World } from "./getter.ts";

const MAX_BYTES = 4 * 1024 * 1024;
const Port = { port: z.int().min(1).max(65_535).default(9_222).describe("Chromium's --remote-debugging-port.") };
const Targets = z.array(z.looseObject({ type: z.string(), url: z.string(), title: z.string().default("") }));

/** The tab in front: `{url, title}`. */
export const activeTabInfo = defineGetter(Port, async ({ port }, world, signal) => {
  // The browser lists first what was in front last.
  const [tab] = await readTabs(port, world, signal);
  return tab === undefined ? missing("the browser has no tab open, or does not run") : json(tab);
});

/** The address in front. */
export const activeUrl = defineGetter(Port, async ({ port }, world, signal) => {
  const [tab] = await readTabs(port, world, signal);
  return tab === undefined ? missing("the browser has no tab open, or does not run") : json(tab.url);
});

/** All tabs, the one in front first: `[{url, title}]`. */
export const openTabsInfo = defineGetter(Port, async ({ port }, world, signal) =>
  json(await readTabs(port, world, signal)),
);

/** None where no browser answers: whether one runs is the agent's doing. */
async function readTabs(port: number, world: World, signal: AbortSignal): Promise<{ url: string; title: string }[]> {
  const body = await ask(port, "/json/list", world, signal);
  if (body === undefined) return [];
  const targets = Targets.safeParse(body).data;
  if (targets === undefined)
    throw new ToolyardError("upstream_unreadable", "the browser's list of tabs cannot be read");
  return targets.filter(({ type }) => type === "page").map(({ url, title }) => ({ url, title }));
}

async function ask(port: number, path: string, { running }: World, signal: AbortSignal): Promise<unknown> {
  const connect = abilityOf(running, "connect");
  let channel: Duplex;
  try {
    channel = await connect.call(running, port, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (ToolyardError.is(error) && error.error === "sandbox_dead") throw error;
    return undefined;
  }
  try {
    return JSON.parse(await request(channel, port, path, signal)) as unknown;
  } catch (error) {
    signal.throwIfAborted();
    if (ToolyardError.is(error)) throw error;
    return undefined;
  } finally {
    channel.destroy();
  }
}

async function request(channel: Duplex, port: number, path: string, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { host: `127.0.0.1:${port}` };
  const sent = http.request({ path, headers, signal, createConnection: () => channel as never }, (answer) => {
    let text = "";
    answer.setEncoding("utf8");
    answer.on("data", (chunk: string) => {
      text += chunk;
      if (text.length > MAX_BYTES) {
        reject(new ToolyardError("upstream_unreadable", "the browser's list of tabs is too long"));
        answer.destroy();
      }
    });
    answer.on("end", () => resolve(text));
    answer.on("error", reject);
  });
  sent.on("error", reject);
  sent.end();
  return promise;
}
