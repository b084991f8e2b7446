/** What a robots.txt says of URLs of its own origin. */
export interface RobotsRules {
  allows(url: URL): boolean;
}

interface Rule {
  readonly allow: boolean;
  /** What stands between the stars. */
  readonly parts: readonly string[];
  /** It ends with `$`: nothing may follow. */
  readonly whole: boolean;
  readonly length: number;
}

interface Group {
  readonly names: string[];
  readonly rules: Rule[];
}

/**
 * Reads a robots.txt (RFC 9309) for the product of a name; what makes no sense in it is passed over.
 *
 * The one library for it takes minutes for patterns that are made to, and takes `%7E` for another character than `~`.
 */
export function parseRobots(text: string, name: string): RobotsRules {
  const groups = readGroups(text);
  const own = groups.filter(({ names }) => names.includes(name.toLowerCase()));
  const chosen = own.length > 0 ? own : groups.filter(({ names }) => names.includes("*"));
  const rules = chosen.flatMap((group) => group.rules);
  return { allows: (url) => url.pathname === "/robots.txt" || isAllowed(rules, normalize(url.pathname + url.search)) };
}

/** The longest pattern that matches decides, and of two of the same length the one that allows. */
function isAllowed(rules: readonly Rule[], path: string): boolean {
  let best: Rule | undefined;
  for (const rule of rules) {
    const isBetter = best === undefined || rule.length > best.length || (rule.length === best.length && rule.allow);
    if (isBetter && matches(rule, path)) best = rule;
  }
  return best?.allow ?? true;
}

function matches({ parts, whole }: Rule, path: string): boolean {
  const [first = "", ...rest] = parts;
  if (!path.startsWith(first)) return false;
  let at = first.length;
  const last = whole ? rest.pop() : undefined;
  // The first place where a part stands leaves the most room for those after it.
  for (const part of rest) {
    const found = path.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  if (!whole) return true;
  return last === undefined ? at === path.length : path.length - last.length >= at && path.endsWith(last);
}

function readGroups(text: string): Group[] {
  const groups: Group[] = [];
  let open: Group | undefined;
  let naming = false;
  for (const line of text.replace(/^\ufeff/, "").split(/\r\n?|\n/)) {
    const [, key = "", value = ""] = /^\s*([a-z-]+)\s*:\s*([^#]*)/i.exec(line) ?? [];
    const name = key.toLowerCase();
    if (name === "user-agent") {
      if (!naming || open === undefined) groups.push((open = { names: [], rules: [] }));
      naming = true;
      open.names.push(/^\*|^[a-z_-]+/i.exec(value.trim())?.[0].toLowerCase() ?? "");
    } else if (name === "allow" || name === "disallow") {
      naming = false;
      const rule = toRule(value.trim(), name === "allow");
      if (rule !== null) open?.rules.push(rule);
    }
  }
  return groups;
}

function toRule(pattern: string, allow: boolean): Rule | null {
  // An empty one forbids nothing, and one that begins elsewhere than at the root is none.
  if (!/^[/*]/.test(pattern)) return null;
  const whole = pattern.endsWith("$");
  const parts = normalize(whole ? pattern.slice(0, -1) : pattern).split("*");
  return { allow, parts, whole, length: pattern.length };
}

/** Writes each character in its one way: escaped or not as RFC 3986 prefers, in capitals where escaped. */
function normalize(path: string): string {
  return path
    .replace(/%[0-9a-f]{2}/gi, (escape) => {
      const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
      return /[A-Za-z0-9._~-]/.test(character) ? character : escape.toUpperCase();
    })
    .replace(/[^\x21-\x7e]+/g, (characters) => encodeURIComponent(characters.toWellFormed()));
}
