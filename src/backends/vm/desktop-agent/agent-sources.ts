import { readFileSync } from "node:fs";

const MODULES: readonly string[] = [
  "agent_bus",
  "agent_clipboard",
  "agent_display",
  "agent_elements",
  "agent_failure",
  "agent_open",
  "agent_runner",
  "agent_states",
  "agent_walk",
  "agent_windows",
  "agent_wire",
  "desktop_agent",
  "pyautogui",
  "pyautogui_keys",
  "pyautogui_screen",
  "pyautogui_tweens",
];
/** Debian's own, which has the packages of Debian; apart from the folders and variables of the user, whose programs are not trusted. */
const INTERPRETER = ["/usr/bin/python3", "-I", "-c"];

let sources: { readonly boot: string; readonly modules: Readonly<Record<string, string>> } | undefined;

/**
 * How the agent is started: the command, and the first line that it reads, with all its modules.
 *
 * Handed over as data: nothing of it lies in the sandbox, where its programs could change it.
 */
export function toAgentStart(firstRef: number): { readonly command: readonly string[]; readonly line: string } {
  sources ??= {
    boot: read("agent_boot"),
    modules: Object.fromEntries(MODULES.map((name) => [name, read(name)])),
  };
  const line = JSON.stringify({ modules: sources.modules, first_ref: firstRef });
  return { command: [...INTERPRETER, sources.boot], line: `${line}\n` };
}

function read(name: string): string {
  return readFileSync(new URL(`${name}.py`, import.meta.url), "utf8");
}
