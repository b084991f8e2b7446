import { z } from "zod";
import { activeTabInfo, activeUrl, openTabsInfo } from "./browser-getters.ts";
import { vmCommand, vmCommandError, vmCommandLine } from "./command-getters.ts";
import { inlineFile, listDirectory, vmFile, vmPath, vmText } from "./file-getters.ts";
import { defineGetter, type Getter, json } from "./getter.ts";
import * as screen from "./screen-getters.ts";

/** What the evaluator expects, as it is. */
const rule = defineGetter({ rules: z.unknown() }, async ({ rules }) => json(rules));

/** Every getter by its name in an evaluator's `type`; OSWorld's names where it has one. */
export const GETTERS = {
  rule,
  inline_file: inlineFile,
  vm_file: vmFile,
  vm_text: vmText,
  content_from_vm_file: vmText,
  vm_path: vmPath,
  list_directory: listDirectory,
  vm_command_line: vmCommandLine,
  vm_command_error: vmCommandError,
  vm_command: vmCommand,
  vm_terminal_output: screen.vmTerminalOutput,
  vm_screen_size: screen.vmScreenSize,
  vm_window_size: screen.vmWindowSize,
  window_list: screen.windowList,
  window_titles: screen.windowTitles,
  active_window_title: screen.activeWindowTitle,
  screenshot: screen.screenshot,
  accessibility_tree: screen.accessibilityTree,
  active_tab_info: activeTabInfo,
  active_url: activeUrl,
  open_tabs_info: openTabsInfo,
} as const satisfies Readonly<Record<string, Getter>>;

export type GetterName = keyof typeof GETTERS;
