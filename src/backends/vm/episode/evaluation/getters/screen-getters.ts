import { z } from "zod";
import { encodePicture } from "../../../screen/picture.ts";
import { isRecord } from "../metrics/equality.ts";
import { defineGetter, json, missing, type World } from "./getter.ts";

/** The screen in full resolution, as a PNG. */
export const screenshot = defineGetter({}, async (_params, { operator }, signal) => {
  const picture = await operator.driver.capture(signal);
  const { bytes } = await encodePicture(picture, { format: "png" });
  return { kind: "file", name: "screenshot.png", bytes };
});

export const vmScreenSize = defineGetter({}, async (_params, { operator }) => {
  const { width, height } = operator.driver.size;
  return json({ width, height });
});

/** The accessibility tree as its tool tells it. */
export const accessibilityTree = defineGetter({}, async (_params, world) =>
  json(await world.ask("accessibility_tree", {})),
);

/** The text of the terminal in front. */
export const vmTerminalOutput = defineGetter({}, async (_params, world) => {
  const answer = await world.ask("terminal_text", {});
  const text = isRecord(answer) ? answer["text"] : undefined;
  return typeof text === "string" ? json(text) : missing("there is no terminal in front");
});

/** Every window as its tool tells it: title, class, box and more. */
export const windowList = defineGetter({}, async (_params, world) => json(await windowsOf(world)));

/** The titles of all windows. */
export const windowTitles = defineGetter({}, async (_params, world) =>
  json((await windowsOf(world)).map(({ title }) => title)),
);

/** The title of the window in front. */
export const activeWindowTitle = defineGetter({}, async (_params, world) => {
  const window = (await windowsOf(world)).find(({ active }) => active === true);
  return window === undefined ? missing("no window is in front") : json(window["title"]);
});

/** The size of the first window of a class. */
export const vmWindowSize = defineGetter({ app_class_name: z.string() }, async ({ app_class_name: name }, world) => {
  const wanted = name.toLowerCase();
  const window = (await windowsOf(world)).find(({ class: its }) =>
    [its].flat().some((one) => String(one).toLowerCase().includes(wanted)),
  );
  if (window === undefined) return missing(`there is no window of the class ${name}`);
  const { width, height } = isRecord(window["box"]) ? window["box"] : window;
  return json({ width, height });
});

async function windowsOf(world: World): Promise<Record<string, unknown>[]> {
  const answer = await world.ask("list_windows", {});
  const windows = isRecord(answer) ? answer["windows"] : answer;
  return Array.isArray(windows) ? windows.filter(isRecord) : [];
}
