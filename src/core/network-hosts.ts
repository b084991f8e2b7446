import { z } from "zod";

/** A host as a network policy lists it: `example.org`, `*.example.org` or either with `:port`. */
export const NetworkHost = z
  .string()
  .max(260)
  .regex(/^(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*(:\d{1,5})?$/i, {
    error: "a host is written example.org, *.example.org, or either with :port",
  });

/** Says whether everything that a listed host means is allowed by a list, which may hold `*`. */
export function coveredBy(host: string, allowed: readonly string[]): boolean {
  const wanted = split(host);
  return allowed.some((entry) => {
    if (entry === "*") return true;
    const { name, port } = split(entry);
    if (port !== undefined && port !== wanted.port) return false;
    if (name === wanted.name) return true;
    return name.startsWith("*.") && wanted.name.replace(/^\*\./, ".").endsWith(name.slice(1));
  });
}

function split(host: string): { readonly name: string; readonly port: string | undefined } {
  const [name = "", port] = host.toLowerCase().split(":");
  return { name, port };
}
